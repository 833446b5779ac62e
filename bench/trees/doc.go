// Command trees measures stores of intervals side by side, and prints a table: the state history
// trees of the papers (packages sht, esht and rsht), package history, an R-tree (rectangles),
// SQLite (sqlite) and PostgreSQL 15 in two layouts (postgres), on the same sets of intervals. Each
// of the last three says in its own words how it is tuned. Without the recorded sets, name others
// with -sets. It runs from the folder bench, with GOWORK=off:
//
//	go run ./trees
//	go run ./trees -sets synth:1000:1000 -trees eSHT,vR,SQLite -dir /tmp
//
// With -json it prints medians and spreads as JSON.
//
//	build M/s    million intervals a second, what follows a load included
//	MB, B/interval, nodes, depth   of the closed file; of history, its image; of the R-tree, the
//	             heap; of PostgreSQL, the tables with their indexes
//	restart ms   until a reopened store has answered its first question; a server starts, an
//	             R-tree is loaded again
//	single us    a random key at a random time
//	full us      all keys at a random time; of history, into new memory
//	2D ms        100 random keys at 2,000 times across the set
//	one kind ms  the first eighth of the keys, or the states of all threads, at the same times
//
// Each store has a process of its own for each of -repeat turns, and stores take turns. A figure
// is the median of the processes; ± is half the distance between the lowest and the highest. A
// process compares all single and 2D answers, and five full ones, with a look at every interval,
// values included, before it times them. The answers that it times are counted. A wrong answer
// ends the run. A measurement asks 300 single questions, 20 full ones or 3 of 2D, and as many
// again until 40 ms have passed (-enough). If the first round takes ten times as long, it is the only one, and
// it ends after three questions and a second. With -patience, a store whose processes took so long for a set
// gets no more of them.
//
// Times are CPU times, user and system, of the process with one processor, collections included,
// and of the server's processes. Making an empty store is not in them, nor is initdb. A load
// that is not measured comes first, so that memory is not new, but for PostgreSQL. Trees
// are in memory without -dir, SQLite and PostgreSQL are in files, which the system's cache holds.
// Trees keep up to 256 MiB of blocks in memory, so queries are of a warm cache; the checksum of a
// block counts in its first read. Queries hand each interval to a function. History returns its
// answers as a list.
//
// PostgreSQL is that of Debian's package. If it is not installed, a run fetches the package and
// unpacks it for itself (-unpack=false does not). Each process starts a server on a socket in a
// temporary folder, and stops and removes it. Where the package cannot be had, the run says that
// both layouts are skipped, and why.
//
// # Figures
//
// Of these commands, for the four recorded sets and two made-up ones, a set at a time, on a shared
// machine of two processors with much other work; PostgreSQL 15.18:
//
//	go run ./trees -repeat 3 -trees 'SHT,eSHT,vR,history,rtree,SQLite,PG GiST,PG B-tree' -sets ../../shared/data/intervals/many-threads
//	go run ./trees -repeat 3 -trees 'eSHT,vR,history,rtree,SQLite,PG GiST,PG B-tree' -sets synth:100:10000
//
//	set                  store      build M/s   B/interval  restart ms   single us    full us     2D ms        one kind ms
//	many-threads         SHT        7.52 ±7%    185.25      0.868 ±3%    78.6 ±9%     1015 ±6%    1.62 ±14%    6.03 ±3%
//	                     eSHT       54.9 ±4%    28.97       0.0972 ±17%  9.83 ±6%     1006 ±3%    1.37 ±6%     5.57 ±1%
//	                     vR         8.37 ±1%    26.90       0.0590 ±9%   1.05 ±18%    1282 ±3%    0.0612 ±11%  5.95 ±5%
//	                     history    32.9 ±3%    4.36        25.7 ±10%    0.0787 ±42%  1362 ±7%    0.0170 ±19%  1.77 ±12%
//	                     rtree      1.50 ±1%    156.85      564 ±1%      0.991 ±12%   3441 ±1%    0.234 ±38%   24.2 ±9%
//	                     SQLite     0.830 ±4%   33.12       5.48 ±60%    6.07 ±7%     86134 ±3%   1.79 ±2%     165 ±4%
//	                     PG GiST    0.108 ±3%   165.00      52.4 ±6%     51.4 ±8%     44923 ±4%   1.74 ±13%    146 ±4%
//	                     PG B-tree  0.869 ±2%   94.41       67.8 ±15%    30.7 ±4%     85526 ±3%   1.03 ±22%    80.6 ±4%
//	uneven-streams       SHT        53.2 ±3%    28.57       0.0383 ±43%  2.27 ±4%     9.51 ±2%    0.228 ±5%    0.333 ±4%
//	                     eSHT       62.2 ±24%   28.57       0.0409 ±50%  2.15 ±6%     9.75 ±7%    0.226 ±4%    0.321 ±3%
//	                     vR         6.45 ±8%    28.57       0.0639 ±41%  0.342 ±5%    32.0 ±3%    0.115 ±4%    0.238 ±2%
//	                     history    42.4 ±14%   3.99        0.673 ±4%    0.0689 ±3%   17.6 ±3%    0.0455 ±3%   0.0422 ±4%
//	                     rtree      1.62 ±1%    135.72      36.2 ±4%     0.477 ±6%    15.5 ±8%    0.221 ±16%   0.450 ±8%
//	                     SQLite     1.15 ±5%    33.34       0.580 ±13%   3.77 ±6%     595 ±4%     5.24 ±2%     11.6 ±2%
//	                     PG GiST    0.125 ±8%   165.04      56.3 ±4%     53.9 ±12%    730 ±9%     3.71 ±8%     6.44 ±8%
//	                     PG B-tree  0.527 ±14%  93.01       56.9 ±2%     76.2 ±42%    801 ±19%    2.12 ±4%     3.76 ±5%
//	bug446190            SHT        44.2 ±25%   27.99       0.0335 ±28%  2.52 ±3%     17.3 ±2%    0.108 ±4%    0.281 ±1%
//	                     eSHT       56.0 ±16%   27.99       0.0367 ±37%  2.46 ±6%     16.9 ±4%    0.107 ±2%    0.283 ±3%
//	                     vR         5.25 ±7%    29.74       0.0498 ±14%  0.274 ±2%    36.2 ±6%    0.0787 ±3%   0.188 ±2%
//	                     history    38.8 ±6%    4.26        0.699 ±12%   0.0726 ±12%  22.0 ±1%    0.0280 ±11%  0.0662 ±9%
//	                     rtree      1.65 ±3%    143.13      26.4 ±10%    0.216 ±4%    25.4 ±11%   0.129 ±7%    0.410 ±5%
//	                     SQLite     1.05 ±3%    34.11       0.653 ±58%   4.89 ±7%     1288 ±3%    3.38 ±3%     7.19 ±2%
//	                     PG GiST    0.139 ±2%   161.80      55.5 ±2%     48.3 ±15%    914 ±3%     2.60 ±14%    6.09 ±5%
//	                     PG B-tree  0.478 ±5%   94.89       55.3 ±9%     30.8 ±17%    1232 ±7%    1.25 ±8%     2.98 ±8%
//	flipping-endianness  SHT        57.6 ±12%   27.98       0.0397 ±22%  1.86 ±1%     9.00 ±3%    0.106 ±4%    0.514 ±3%
//	                     eSHT       57.2 ±19%   27.98       0.0405 ±72%  1.81 ±2%     8.75 ±3%    0.106 ±2%    0.499 ±1%
//	                     vR         6.89 ±7%    27.98       0.0457 ±28%  0.353 ±4%    31.6 ±1%    0.0570 ±1%   0.413 ±4%
//	                     history    46.8 ±5%    4.23        0.768 ±16%   0.0679 ±4%   14.9 ±16%   0.0199 ±21%  0.111 ±4%
//	                     rtree      1.74 ±3%    117.55      37.1 ±2%     0.382 ±6%    12.4 ±5%    0.0883 ±6%   0.673 ±12%
//	                     SQLite     1.10 ±2%    31.89       0.610 ±23%   6.49 ±9%     538 ±3%     2.34 ±3%     11.1 ±3%
//	                     PG GiST    0.120 ±1%   164.08      56.8 ±5%     63.3 ±18%    612 ±5%     2.20 ±5%     7.50 ±1%
//	                     PG B-tree  0.584 ±4%   92.46       54.8 ±5%     32.2 ±9%     625 ±10%    1.05 ±5%     4.21 ±4%
//	synth:100:10000      eSHT       64.5 ±2%    25.69       0.0779 ±15%  2.26 ±7%     4.54 ±4%    13.1 ±5%     3.88 ±10%
//	                     vR         9.22 ±2%    25.69       0.0686 ±2%   0.934 ±11%   158 ±20%    9.58 ±3%     2.20 ±4%
//	                     history    66.1 ±5%    3.03        6.77 ±5%     0.0691 ±46%  2.59 ±3%    4.77 ±56%    0.941 ±10%
//	                     rtree      1.30 ±5%    98.03       810 ±7%      0.533 ±30%   173 ±25%    32.9 ±8%     6.03 ±11%
//	                     SQLite     0.910 ±6%   21.62       5.03 ±21%    5.06 ±23%    388 ±16%    405 ±4%      73.8 ±3%
//	                     PG GiST    0.0907 ±5%  166.26      61.2 ±12%    53.4 ±15%    1220 ±19%   244 ±9%      41.6 ±6%
//	                     PG B-tree  0.861 ±9%   91.91       52.3 ±8%     40.0 ±36%    810 ±9%     153 ±8%      28.1 ±5%
//	synth:100000:10      eSHT       59.0 ±4%    27.53       0.346 ±9%    64.4 ±15%    7862 ±65%   2.19 ±32%    5.69 ±3%
//	                     vR         7.31 ±2%    25.74       0.0662 ±22%  1.17 ±18%    2106 ±5%    0.198 ±15%   5.87 ±7%
//	                     history    29.5 ±9%    5.45        77.4 ±7%     0.117 ±21%   2649 ±7%    0.0277 ±7%   14.0 ±82%
//	                     rtree      0.886 ±9%   115.43      1285 ±6%     0.515 ±11%   4118 ±5%    2.27 ±6%     34.3 ±2%
//	                     SQLite     0.773 ±3%   23.68       8.81 ±41%    4.65 ±11%    158808 ±2%  1.23 ±5%     108 ±3%
//	                     PG GiST    0.113 ±3%   164.23      57.2 ±0%     41.9 ±8%     113326 ±1%  2.22 ±13%    192 ±1%
//	                     PG B-tree  0.741 ±7%   96.79       54.4 ±8%     36.9 ±41%    180405 ±5%  1.55 ±11%    112 ±7%
//
// One sentence each, against history:
//
//   - rtree (tidwall/rtree 1.10.0, MIT) takes 3 to 13 times as long for a single question and 0.8 to
//     2.5 times for a full one, or 67 times where keys are few, but has 21 to 36 times the bytes,
//     all in memory, and loads 22 to 51 times slower, again at each restart.
//   - SQLite (modernc.org/sqlite 1.62.0, BSD) has the smallest file of the others, 4 to 8 times
//     history's, and restarts faster than history, which reads and checks its whole image; it
//     loads 37 to 73 times slower, and its questions take 8 to 275 times as long.
//   - PG GiST has 30 to 55 times the bytes and loads 260 to 730 times slower; its questions take 14
//     to 930 times as long, and full ones of many keys less long than those of the b-tree.
//   - PG B-tree is the better layout in all else: 0.55 to 0.59 of the bytes of GiST, loads 3 to 9
//     times faster, 2D questions in 0.5 to 0.7 of the time, and single ones in 0.5 to 0.9 but for
//     one set, where they scatter.
//
// Others are ahead of history as follows: all trees in restarts, which read a few blocks, and
// SQLite in them; PostgreSQL in that of synth:100000:10. The SHT and the eSHT in full questions and
// builds of the recorded sets, but for the SHT's build of many-threads; the eSHT in the build
// of synth:100000:10. In full questions also vR in many-threads and synth:100000:10, and
// the R-tree in two small sets. In those of one kind in synth:100000:10, the eSHT and vR.
//
// The SHT paper compares its tree with an R-tree and PostGIS in figures 7 to 9. Its text is no part
// of this project; this is what the table says, with GiST in place of PostGIS:
//
//	the SHT is                   against the R-tree               against GiST
//	faster to build              held: 5 to 33 times              held: 70 to 480 times
//	smaller                      many-threads: not held, 1.2      many-threads: not held, 1.1 times
//	                             times larger; else held: 4 to 5  larger; else held: 5.8 times
//	faster in single questions   not held: 5 to 79 times slower   many-threads: not held, 1.5 times
//	                                                              slower; else held: 19 to 34 times
//	faster in full questions     held: 1.4 to 3.4 times           held: 44 to 77 times
//
// # Figures of the trees alone
//
// Of all trees and history in one process, at commit 41e6d64: -repeat 3, but one measurement for
// synth:1000000:4, and CPU time of questions by thread, without collections. R4 is as R3; oSHT is
// nearly as eSHT but for single queries of many keys.
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
