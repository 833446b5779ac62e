# Changes of state of goroutines, as CSV for `granary history plot`, from the text
# that `go tool trace -d=parsed FILE` prints for a Go execution trace.
#
# A goroutine is named after its number and the outermost function of its stack.

function flush(    name) {
	if (about != "" && outermost != "" && !(about in names)) {
		name = outermost
		sub(/^.*\//, "", name)
		gsub(/\.func[0-9]+|\(\*|\)/, "", name)
		names[about] = name
	}
	about = outermost = ""
}

/^M=/ { flush() }

/ StateTransition .* GoID=/ {
	match($0, / Time=[0-9]+/); time = substr($0, RSTART + 6, RLENGTH - 6)
	match($0, / GoID=[0-9]+/); id = substr($0, RSTART + 6, RLENGTH - 6)
	match($0, /->[A-Za-z]+/); state = tolower(substr($0, RSTART + 2, RLENGTH - 2))
	if (state == "undetermined") next
	if (state == "notexist") state = ""
	n++; times[n] = time; ids[n] = id; states[n] = state
	if ($0 ~ /NotExist->/) made = id
	else if ($0 ~ / G=-1 /) made = ""
	else { made = ""; match($0, / G=[0-9]+/); about = substr($0, RSTART + 3, RLENGTH - 3) }
	next
}

/^M=/ && / G=[0-9]/ { made = ""; match($0, / G=[0-9]+/); about = substr($0, RSTART + 3, RLENGTH - 3) }
/^TransitionStack=/ { if (made != "") about = made; next }
/^Stack=/ { if (made != "") { flush(); made = "" } next }
/^\t[^\t].* @ 0x/ && $1 !~ /^(sync\.|runtime\.goexit)/ { outermost = $1 }

END {
	flush()
	print "time,attribute,value"
	for (i = 1; i <= n; i++) {
		name = ids[i] in names ? names[ids[i]] : "runtime"
		if (name ~ /^(runtime\.)?trace/) continue # the recorder
		printf "%.0f,\"%4d %s\",%s\n", times[i] - times[1], ids[i], name, states[i]
	}
}
