# Says of a test run's output what matters after a failure, and nothing else: the errors of a build, what failed, and what did not finish.

/: (fatal )?error: / && !/^✘/ { print }
report == 0 && /^(Fatal error|\*\*\* |==[0-9]+==|SUMMARY: |error: )/ { print }

# A race may not come again: its report is shown with its stacks, up to 100 lines of it.
/^WARNING: ThreadSanitizer/ { report = 100 }
report > 0 { print substr($0, 1, 300); report-- }
/^SUMMARY: / { report = 0 }

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
