# What matters in the output of a test run that failed: no progress, and the tests that never came to an end.

/^\[[0-9]+\/[0-9]+\]/ { next }

/^◇ Test ("|[A-Za-z_0-9]+\()/ && / started\.$/ {
    sub(/^◇ /, "")
    sub(/ started\.$/, "")
    open[$0] = 1
    next
}

/^(✔|✘) Test / {
    name = $0
    sub(/^(✔|✘) /, "", name)
    sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, "", name)
    delete open[name]
}

!/^(◇|✔|↳)/

END { for (name in open) print "Not finished: " name }
