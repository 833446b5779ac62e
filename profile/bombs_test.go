package profile

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// bomb is a small file that costs much memory or time in a decoder that does not count what it
// makes.
type bomb struct {
	name string
	make func(size int) message // about size bytes
}

// Parts of samples: the first location, and one value.
const (
	atOne    = "\x08\x01"
	oneValue = "\x10\x05"
)

// varint returns numbers as packed varints.
func varints(numbers ...uint64) string {
	var b []byte
	for _, v := range numbers {
		b = binary.AppendUvarint(b, v)
	}
	return string(b)
}

// fill returns parts up to a size.
func fill(size int, part string) string { return strings.Repeat(part, max(size/len(part), 1)) }

// entries adds entries of a field, up to a size and a number of them.
func (m message) entries(size, most int, field uint64, entry func(i uint64) string) message {
	m = append(make(message, 0, size+size/8), m...)
	for i := uint64(1); len(m) < size && i <= uint64(most); i++ {
		m = m.bytes(field, entry(i))
	}
	return m
}

// samples adds equal samples.
func (m message) samples(size, most int, sample string) message {
	return m.entries(size, most, fieldSample, func(uint64) string { return sample })
}

// typed returns the tables of a profile with a number of sample types and location 1.
func typed(types int) message {
	m := message{}.bytes(fieldString, "")
	for i := range types {
		m = m.bytes(fieldString, fmt.Sprint(i)).number2(fieldSampleType, uint64(i+1), 0)
	}
	return m.bytes(fieldFunction, "\x08\x01\x10\x01").bytes(fieldLocation, "\x08\x01\x22\x02\x08\x01")
}

// number2 adds an entry of two numbers, fields 1 and 2.
func (m message) number2(field, a, b uint64) message {
	return m.bytes(field, message{}.number(1, a).number(2, b).string())
}

// stacked returns the tables of a profile with one type and a number of locations, which
// share a function.
func stacked(locations int) message {
	m := smallest()
	for i := range locations - 1 {
		m = m.bytes(fieldLocation, message{}.number(1, uint64(i+2)).number(3, uint64(i)).bytes(4, "\x08\x01").string())
	}
	return m
}

// Limits that bombs approach: a bomb beyond a limit is refused early.
const (
	mostSamples = 1_000_000
	mostEntries = 1 << 20
	mostLabels  = 6 << 20
	mostRows    = 4 << 20
)

func bombs() []bomb {
	var all []bomb
	for _, of := range [][]bomb{labelBombs(), labelledSampleBombs(), textBombs(), tableBombs(), sampleBombs(), oddBombs()} {
		all = append(all, of...)
	}
	return all
}

// one returns a bomb of a single sample with equal parts.
func one(name, part string) bomb {
	return bomb{name, func(size int) message {
		return smallest().bytes(fieldSample, atOne+oneValue+fill(size, part))
	}}
}

// of returns a bomb of equal samples.
func of(name, sample string) bomb {
	return bomb{name, func(size int) message { return smallest().samples(size, mostSamples, sample) }}
}

// most is of, with at most n samples.
func most(name string, n int, sample string) bomb {
	return bomb{name, func(size int) message { return smallest().samples(size, n, sample) }}
}

// labelBombs have one sample with many labels.
func labelBombs() []bomb {
	return []bomb{
		one("empty labels", "\x1a\x00"),
		one("labels of a name only", "\x1a\x02\x08\x01"),
		one("labels without a name", "\x1a\x02\x10\x01"),
		one("number labels", "\x1a\x04\x08\x01\x18\x01"),
		one("number labels with a unit", "\x1a\x06\x08\x01\x18\x01\x20\x01"),
		one("labels of a unit only", "\x1a\x02\x20\x01"),
		one("labels of unknown fields", "\x1a\x02\x78\x01"),
		{"names of labels", func(size int) message {
			m := smallest().entries(size/2, mostEntries, fieldString, func(i uint64) string { return strconv.FormatUint(i, 36) })
			labels := message{}.entries(size/2, mostEntries, 3, func(i uint64) string { return message{}.number(1, i%100_000).number(2, 1).string() })
			return m.bytes(fieldSample, atOne+oneValue+labels.string())
		}},
	}
}

// labelledSampleBombs have many samples with labels.
func labelledSampleBombs() []bomb {
	distinct := func(n int, label func(i uint64) message) string {
		return message{}.entries(1<<20, n, 3, func(i uint64) string { return label(i).string() }).string()
	}
	named := func(i uint64) message { return message{}.number(1, i+1) }
	names := func(size int, label func(i uint64) message, labels, most int) message {
		m := smallest().entries(1<<20, 40, fieldString, func(i uint64) string { return fmt.Sprint("k", i) })
		return m.samples(size, most, atOne+oneValue+distinct(labels, label))
	}
	return []bomb{
		of("an empty label in each sample", atOne+oneValue+"\x1a\x00"),
		of("64 empty labels in each sample", atOne+oneValue+fill(128, "\x1a\x00")),
		of("a label in each sample", atOne+oneValue+"\x1a\x04\x08\x01\x10\x01"),
		of("too many values of a label", atOne+oneValue+strings.Repeat("\x1a\x04\x08\x01\x10\x01", 256)),
		most("256 values of a label in each sample", mostLabels/256, atOne+oneValue+strings.Repeat("\x1a\x04\x08\x01\x10\x01", 256)),
		most("256 numbers of a label in each sample", mostLabels/256, atOne+oneValue+strings.Repeat("\x1a\x04\x08\x01\x18\x01", 256)),
		most("255 numbers before a unit in each sample", mostLabels/256, atOne+oneValue+strings.Repeat("\x1a\x04\x08\x01\x18\x01", 255)+"\x1a\x06\x08\x01\x18\x01\x20\x01"),
		{"12 number labels in each sample", func(size int) message {
			return names(size, func(i uint64) message { return named(i).number(3, i) }, 12, mostSamples)
		}},
		{"12 number labels with a unit in each sample", func(size int) message {
			return names(size, func(i uint64) message { return named(i).number(3, i).number(4, 1) }, 12, mostLabels/12)
		}},
		{"16 labels in each sample", func(size int) message {
			return names(size, func(i uint64) message { return named(i).number(2, 1) }, 16, mostLabels/16)
		}},
		{"12 numbers in few samples of few types", func(size int) message {
			m := typed(8).entries(1<<20, 12, fieldString, func(i uint64) string { return fmt.Sprint("k", i) })
			labels := distinct(12, func(i uint64) message { return named(i+7).number(3, i) })
			return m.samples(size, mostEntries/13, atOne+"\x12\x08\x01\x01\x01\x01\x01\x01\x01\x01"+labels)
		}},
		{"a name of its own for each sample", func(size int) message {
			m := smallest().entries(size/2, mostSamples, fieldString, func(i uint64) string { return strconv.FormatUint(i, 36) })
			return m.entries(size, mostSamples, fieldSample, func(i uint64) string {
				return atOne + oneValue + message{}.bytes(3, named(i).number(2, 1).string()).string()
			})
		}},
		{"a unit of its own for each sample", func(size int) message {
			m := smallest().entries(size/2, mostSamples, fieldString, func(i uint64) string { return strconv.FormatUint(i, 36) })
			return m.entries(size, mostSamples, fieldSample, func(i uint64) string {
				return atOne + oneValue + message{}.bytes(3, message{}.number(1, 1).number(3, i).number(4, i+1).string()).string()
			})
		}},
		{"one of 900 labels in each sample", func(size int) message {
			m := smallest().entries(size, 900, fieldString, func(i uint64) string { return fmt.Sprint("k", i) })
			return m.entries(size, 8<<20/900, fieldSample, func(i uint64) string {
				return atOne + oneValue + message{}.bytes(3, named(i%900+1).number(2, 1).string()).string()
			})
		}},
		{"a trace id of its own for each sample", func(size int) message {
			m := smallest().bytes(fieldString, ColumnTraceID)
			n := min(size/48, mostSamples)
			m = m.entries(size, n, fieldString, func(i uint64) string { return fmt.Sprintf("%032x", i) })
			return m.entries(size, n, fieldSample, func(i uint64) string {
				return atOne + oneValue + message{}.bytes(3, message{}.number(1, 2).number(2, i+2).string()).string()
			})
		}},
		{"a value of its own for each sample", func(size int) message {
			n := min(size/24, mostSamples)
			m := smallest().entries(size, n, fieldString, func(i uint64) string { return strconv.FormatUint(i, 36) })
			return m.entries(size, n, fieldSample, func(i uint64) string {
				return atOne + oneValue + message{}.bytes(3, message{}.number(1, 1).number(2, i+1).string()).string()
			})
		}},
		{"a long label in each sample", func(size int) message {
			return smallest().bytes(fieldString, strings.Repeat("x", 60_000)).samples(size, 4_000, atOne+oneValue+"\x1a\x04\x08\x01\x10\x02")
		}},
		{"few labels, and many types", func(size int) message {
			return typed(1_000).samples(size, mostRows/1_000, atOne+"\x12\xe8\x07"+strings.Repeat("\x01", 1_000)+"\x1a\x04\x08\x01\x10\x01")
		}},
	}
}

// dropped returns a bomb of functions with names, each at a location, and a pattern of frames to
// drop and to keep.
func dropped(name, pattern string, most int, text func(i uint64) string) bomb {
	return bomb{name, func(size int) message {
		m := smallest().bytes(fieldString, pattern).number(fieldDropFrames, 2).number(fieldKeepFrames, 2)
		var at message
		for i := uint64(2); len(m)+len(at) < size && i <= uint64(most)+1; i++ {
			m = m.bytes(fieldString, text(i))
			at = at.bytes(fieldFunction, varints(1<<3, i, 2<<3, i+1)).bytes(fieldLocation, varints(1<<3, i)+message{}.bytes(4, varints(1<<3, i)).string())
		}
		return append(m, at...).bytes(fieldSample, "\x08\x02\x10\x05")
	}}
}

// textBombs have many strings and comments.
func textBombs() []bomb {
	more := func(name, part string) bomb {
		return bomb{name, func(size int) message { return append(smallest(), fill(size, part)...) }}
	}
	strs := func(name string, n, length int) bomb {
		text := strings.Repeat("s", length)
		return bomb{name, func(size int) message {
			return smallest().entries(size, n, fieldString, func(uint64) string { return text })
		}}
	}
	return []bomb{
		more("comments", "\x68\x01"),
		{"packed comments", func(size int) message { return smallest().bytes(fieldComment, fill(size, "\x01")) }},
		more("empty packed comments", "\x6a\x00"),
		{"comments of a long string", func(size int) message {
			m := smallest().bytes(fieldString, strings.Repeat("c", size/2))
			return append(m, fill(size/2, "\x68\x02")...)
		}},
		strs("empty strings", mostEntries, 0),
		strs("short strings", mostEntries, 1),
		strs("strings", mostEntries, 29),
		strs("long strings", mostEntries, 60_000),
		strs("too many strings", 1<<30, 0),
		{"one string", func(size int) message { return smallest().bytes(fieldString, strings.Repeat("s", size)) }},
		more("types of the period", "\x5a\x00"),
		more("drop and keep frames", "\x38\x01\x40\x01"),
		{"a pattern of drop frames", func(size int) message {
			return smallest().bytes(fieldString, fill(size-1000, "(a|b)*")).number(fieldDropFrames, 2).number(fieldKeepFrames, 2)
		}},
		dropped("long names for a pattern", "(.*a.*){500}", 1_000, func(uint64) string { return strings.Repeat("a", 60_000) + "!" }),
		dropped("names for a pattern", "((a|b|aa|ab)*){80}c", mostEntries/2, func(i uint64) string { return strings.Repeat("ab", 25) + strconv.FormatUint(i, 36) }),
		dropped("short names for a pattern of a million paths", strings.Repeat("(a?){1000}", 10), mostEntries/2, func(i uint64) string { return "a" + strconv.FormatUint(i, 36) }),
		dropped("a pattern of large classes", strings.Repeat(`(\pL?){1000}`, 10), mostEntries/2, func(i uint64) string { return "a" + strconv.FormatUint(i, 36) }),
		dropped("a pattern of many instructions", strings.Repeat("(a?){1000}", 400), 1, func(uint64) string { return "a" }),
		more("default types", "\x70\x01"),
		more("times of zero", "\x48\x00"),
	}
}

// tableBombs have many entries in their tables.
func tableBombs() []bomb {
	table := func(name string, field uint64, entry func(i uint64) message) bomb {
		return bomb{name, func(size int) message {
			return smallest().entries(size, mostEntries-2, field, func(i uint64) string { return entry(i).string() })
		}}
	}
	long := func(locations int) message {
		m := smallest().bytes(fieldString, strings.Repeat("f", 60_000)).bytes(fieldFunction, "\x08\x02\x10\x02")
		for i := range locations {
			m = m.bytes(fieldLocation, message{}.number(1, uint64(i+2)).number(3, uint64(i)).bytes(4, "\x08\x02").string())
		}
		for i := range locations {
			m = m.bytes(fieldSample, message{}.number(1, uint64(i+2)).number(2, 1).string())
		}
		return m
	}
	return []bomb{
		table("types", fieldSampleType, func(uint64) message { return nil }),
		table("mappings", fieldMapping, func(i uint64) message { return message{}.number(1, i) }),
		table("mappings of large ids", fieldMapping, func(i uint64) message { return message{}.number(1, i<<24) }),
		table("functions", fieldFunction, func(i uint64) message { return message{}.number(1, i+1) }),
		table("functions of large ids", fieldFunction, func(i uint64) message { return message{}.number(1, i<<24) }),
		table("locations", fieldLocation, func(i uint64) message { return message{}.number(1, i+1) }),
		table("locations of large ids", fieldLocation, func(i uint64) message { return message{}.number(1, i<<24).number(3, i) }),
		table("locations of one line", fieldLocation, func(i uint64) message { return message{}.number(1, i+1).number(3, i).bytes(4, "\x08\x01") }),
		table("locations of 100 lines", fieldLocation, func(i uint64) message {
			return append(message{}.number(1, i+1), fill(400, "\x22\x02\x08\x01")...)
		}),
		{"locations of 10 lines", func(size int) message {
			return smallest().entries(size, mostEntries/10-1, fieldLocation, func(i uint64) string {
				return varints(1<<3, i+1, 3<<3, i) + fill(40, "\x22\x02\x08\x01")
			})
		}},
		table("locations of empty lines", fieldLocation, func(i uint64) message { return append(message{}.number(1, i+1), "\x22\x00"...) }),
		{"lines of one location", func(size int) message {
			return smallest().bytes(fieldLocation, "\x08\x02"+fill(min(size, 4*mostEntries-100), "\x22\x02\x08\x01"))
		}},
		{"a long name in each location", func(size int) message { return long(min(size>>6, 2_200)) }},
		{"too many long names", func(int) message { return long(100_000) }},
		{"used locations", func(size int) message {
			n := min(size/32, mostEntries-2)
			m := stacked(n)
			for i := 0; i < n; i += 1_000 {
				var stack []byte
				for k := i; k < min(i+1_000, n); k++ {
					stack = binary.AppendUvarint(stack, uint64(k+1))
				}
				m = m.bytes(fieldSample, message{}.bytes(1, string(stack)).number(2, 1).string())
			}
			return m
		}},
		{"a mapping, a function and a location of each sample", func(size int) message {
			n := uint64(min(size/56, mostSamples))
			m := smallest().entries(size, int(n), fieldMapping, func(i uint64) string { return varints(1<<3, i, 2<<3, i) })
			m = m.entries(size, int(n), fieldFunction, func(i uint64) string { return varints(1<<3, i+1, 5<<3, i) })
			m = m.entries(size, int(n), fieldLocation, func(i uint64) string {
				return varints(1<<3, i+1, 2<<3, i, 3<<3, i) + message{}.bytes(4, varints(1<<3, i+1)).string()
			})
			return m.entries(size+size/4, int(n), fieldSample, func(i uint64) string { return varints(1<<3, i+1, 2<<3, 1) })
		}},
	}
}

// sampleBombs have many samples, deep stacks or many values.
func sampleBombs() []bomb {
	packed := func(n int, each string) string { return varints(uint64(n*len(each))) + strings.Repeat(each, n) }
	return []bomb{
		of("samples without a stack", oneValue),
		of("samples of zero", "\x08\x01\x10\x00"),
		of("samples", atOne+oneValue),
		of("stacks of 15", "\x0a"+packed(15, "\x01")+oneValue),
		of("stacks of 60", "\x0a"+packed(60, "\x01")+oneValue),
		of("stacks of 15, not packed", strings.Repeat(atOne, 15)+oneValue),
		most("stacks of 16,000", 1_000, "\x0a"+packed(16_000, "\x01")+oneValue),
		most("stacks of 16,000, not packed", 1_000, strings.Repeat(atOne, 16_000)+oneValue),
		most("stacks of 1,000 in pieces", 16_000, strings.Repeat("\x0a\x01\x01", 1_000)+oneValue),
		of("stacks in empty pieces", strings.Repeat("\x0a\x00", 1_000)+atOne+oneValue),
		one("a stack too deep", atOne),
		one("values", oneValue),
		{"different stacks", func(size int) message {
			return stacked(1_001).entries(size, mostSamples, fieldSample, func(i uint64) string {
				return "\x0a" + message(varints(i%1000+1, i/1000+1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)).packed() + oneValue
			})
		}},
		{"different deep stacks", func(size int) message {
			deep := strings.Repeat("\x01", 15_000)
			return stacked(1_100).entries(size, 1_100, fieldSample, func(i uint64) string {
				return "\x0a" + message(varints(i)+deep+varints(i)).packed() + oneValue
			})
		}},
		{"4 values in each sample", func(size int) message {
			return typed(4).samples(size, mostSamples, atOne+"\x12"+packed(4, "\x01"))
		}},
		{"16 values in each sample", func(size int) message {
			return typed(16).samples(size, mostRows/16, atOne+"\x12"+packed(16, "\x01"))
		}},
		{"16 values in each sample, not packed", func(size int) message {
			return typed(16).samples(size, mostSamples, atOne+strings.Repeat("\x10\x01", 16))
		}},
		{"values of 1,000 types", func(size int) message {
			return typed(1_000).samples(size, mostRows/1_000, atOne+"\x12"+packed(1_000, "\x01"))
		}},
		{"large values of 16 types", func(size int) message {
			return typed(16).entries(size, mostRows/16, fieldSample, func(i uint64) string {
				return atOne + "\x12" + packed(16, varints(i*1_000_003))
			})
		}},
	}
}

func (m message) packed() string { return varints(uint64(len(m))) + string(m) }

// oddBombs are bytes of little meaning.
func oddBombs() []bomb {
	more := func(name, part string) bomb {
		return bomb{name, func(size int) message { return append(smallest(), fill(size, part)...) }}
	}
	return []bomb{
		{"zeros", func(size int) message { return make(message, size) }},
		more("unknown numbers", "\x80\x01\x01"),
		more("unknown bytes", "\x82\x01\x00"),
		more("unknown words", "\x85\x01\x00\x00\x00\x00"),
		more("numbers of ten bytes", "\x38\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
		one("unknown fields of a sample", "\x78\x00"),
		{"one sample that is empty but for its size", func(size int) message {
			return smallest().bytes(fieldSample, atOne+oneValue+"\x22"+varints(uint64(size))+strings.Repeat("\x00", size))
		}},
	}
}
