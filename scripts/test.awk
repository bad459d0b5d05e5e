# Says of a test run's output what matters after a failure, and nothing else: the errors of a build, what failed, and what did not finish.

/: (fatal )?error: / && !/^✘/ { print }
/^(Fatal error|\*\*\* |==[0-9]+==|WARNING: ThreadSanitizer|SUMMARY: |error: )/ { print }

/^◇ Test ("|[A-Za-z_0-9]+\()/ && / started\.$/ {
    name = $0
    sub(/^◇ /, "", name)
    sub(/ started\.$/, "", name)
    open[name] = 1
}

/^(✔|✘) Test / {
    name = $0
    sub(/^(✔|✘) /, "", name)
    sub(/( with [0-9]+ test cases?)? (passed|failed) after .*$/, "", name)
    delete open[name]
}

# An issue is a line that begins with its mark, and the lines of its comment and its values.
/^(◇|✔)/ { shown = 0 }
/^✘/ { shown = 1; lines = 0 }
shown && lines++ < 40 { failures = failures substr($0, 1, 2000) "\n" }

END {
    for (name in open) print "Not finished: " name
    printf "%s", failures
}
