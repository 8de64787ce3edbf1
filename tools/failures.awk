# Prints what failed in the output of make test: each failed test with its last messages, data races, panics and make's
# errors. It makes the end of a long output sufficient to find a fault.
function flush(    i) {
	if (n > 0) print name
	for (i = n > 5 ? n - 5 : 0; i < n; i++) print message[i]
	name = ""; n = 0
}
/^ *--- / { flush(); if (/--- FAIL/) name = $0; next }
/^[^ \t]/ { flush() }
name != "" && /^ +[a-z_0-9]+\.go:[0-9]+: / { message[n++] = substr($0, 1, 600) }
/^(panic: |WARNING: DATA RACE|FAIL\t|make.*\*\*\* )/ { print substr($0, 1, 600) }
END { flush() }
