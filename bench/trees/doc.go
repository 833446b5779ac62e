// Command trees measures the state history trees of the papers (packages sht, esht and rsht)
// and package history on the same sets of intervals, and prints a table. Without the recorded
// sets, name others with -sets. It runs from the folder bench, with GOWORK=off:
//
//	go run ./trees
//	go run ./trees -sets synth:1000:1000 -trees eSHT,vR -dir /tmp
//
//	build M/s    million intervals a second, closed included
//	MB, B/interval, nodes, depth   of the closed file; of history, its image
//	single us    a random key at a random time
//	full us      all keys at a random time; of history, into new memory
//	2D ms        100 random keys at 2,000 times across the set
//	one kind ms  the first eighth of the keys, or the states of all threads, at the same times
//
// Times are CPU times with one processor, medians. Trees keep up to 256 MiB of blocks in
// memory, so queries are of a warm cache; the checksum of a block counts in its first read.
// Queries hand each interval to a function. History returns its answers as a list. Both are
// asked the same questions, and all answers are counted and compared with the set's.
//
// # Figures
//
// Of the first command with -repeat 3, on a shared machine of two processors; the last four
// rows with -repeat 1 -sets synth:1000000:4 -trees oSHT,eSHT,R2,R3,vR. In the sets of the first, R4 is as R3;
// oSHT is nearly as eSHT but for single queries of many keys.
//
//	set              tree     build M/s  B/interval  nodes  depth  single us  full us  2D ms   one kind ms
//	many-threads     SHT      6.0        185.25      2320   64     69.56      1230     1.487   6.396
//	                 eSHT     39.3       28.97       362    5      7.84       1195     1.124   6.599
//	                 R3       5.2        26.82       335    3      1.04       1428     0.056   6.148
//	                 vR       10.4       26.90       336    3      1.05       1246     0.068   5.741
//	                 history  29.9       4.36                      0.10       885      0.016   1.460
//	uneven-streams   eSHT     45.0       28.57       23     2      2.12       13       0.198   0.381
//	                 vR       7.0        28.57       23     2      0.42       43       0.171   0.277
//	                 history  34.9       3.99                      0.10       15       0.044   0.041
//	bug446190        eSHT     43.2       27.99       15     2      2.48       22       0.120   0.264
//	                 vR       6.5        29.74       16     2      0.37       46       0.086   0.188
//	                 history  33.6       4.26                      0.10       36       0.033   0.080
//	flipping-        eSHT     50.7       27.98       24     2      1.96       11       0.121   0.524
//	endianness       vR       7.4        27.98       24     2      0.43       41       0.066   0.404
//	                 history  41.0       4.23                      0.10       21       0.027   0.124
//	synth:1000:1000  SHT      31.2       37.65       574    7      9.41       41       5.371   6.374
//	                 eSHT     49.9       25.73       392    3      1.90       30       5.028   5.841
//	                 vR       9.8        25.73       392    3      0.85       148      2.868   3.659
//	                 history  42.9       3.43                      0.09       16       5.931   4.517
//	synth:10000:100  eSHT     48.5       25.70       395    3      5.78       277      1.688   5.911
//	                 vR       9.2        25.70       395    3      0.91       370      0.478   3.915
//	                 history  38.1       3.89                      0.08       140      0.247   5.104
//	synth:100000:10  eSHT     46.7       27.53       461    7      43.29      3507     2.008   6.514
//	                 vR       10.0       25.74       431    3      1.34       2729     0.127   6.269
//	                 history  28.8       5.45                      0.08       1276     0.027   7.610
//	synth:1000000:4  eSHT     40.5       29.31       2235   15     579.52     147834   14.086  30.039
//	                 R3       2.9        25.57       1950   3      2.68       27352    0.095   24.515
//	                 vR       4.2        25.57       1950   3      2.22       27808    0.095   24.681
//	                 history  15.2       7.52                      0.12       13849    0.016   38.019
//
// Trees are faster than history: the eSHT in each build, by a sixth to nearly three times; in
// full queries of the three small sets; in 2D queries of synth:1000:1000 (eSHT and vR); in
// those of one kind from 1,000 keys of the model on (vR), or 100,000 (eSHT). The SHT of
// synth:10000:100 and synth:100000:10 was given up at 1.08 GB, after 467,968 intervals.
package main
