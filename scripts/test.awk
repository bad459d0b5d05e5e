# Filters the output of a failed test run: removes progress, and lists the tests that did not finish.

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
