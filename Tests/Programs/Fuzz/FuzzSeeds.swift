// SPDX-License-Identifier: Apache-2.0

/// What the lines are made of.
enum FuzzSeeds {
    /// Lines as they should be.
    static let lines = [
        #"{"id":"a","request":{"url":"x"}}"#,
        #"{"id":"b","request":{"url":"json","headers":[["X-A","1"],["Accept","*/*"]]},"serialize":"json"}"#,
        #"{"id":"c","request":{"method":"POST","url":"x","json":{"a":[1,2.5,null,"é"]}},"serialize":"string"}"#,
        #"{"id":"d","request":{"url":"x","query":{"a":1,"b":"c d","e":null}},"serialize":"lines","maxItems":1}"#,
        #"{"id":"e","request":{"url":"x","query":[["a","1"],["a","2"]]},"serialize":"jsonLines"}"#,
        #"{"id":"f","request":{"url":"events"},"serialize":"events","events":{"reconnects":0,"lastEventID":"7"}}"#,
        #"{"id":"g","request":{"url":"{name}/x","pathParameters":{"name":"a/b"}},"serialize":"auto"}"#,
        #"{"id":"h","request":{"method":"PUT","url":"x","stream":{"base64":"YWJjZGVm","chunk":2,"replayable":true}}}"#,
        #"{"id":"i","request":{"method":"PUT","url":"x","stream":{"base64":"YWJj","failAfter":1}}}"#,
        #"{"id":"j","request":{"method":"PUT","url":"x","file":"f"},"options":{"timeout":1,"retryable":true}}"#,
        #"{"id":"k","request":{"url":"x?i={i}"},"repeat":3,"concurrency":2,"stagger":0.001,"serialize":"none"}"#,
        #"{"id":"l","request":{"url":"x"},"cancelAfter":0.01,"options":{"limits":{"body":5,"headers":9,"line":3}}}"#,
        #"{"id":"m","client":"c","request":{"url":"gone"},"stack":[{"use":"validate","status":[[200,299],304]}]}"#,
        #"{"id":"n","client":"c","request":{"url":"moved"},"stack":[{"use":"redirect","limit":2,"sensitiveHeaders":["X"]}]}"#,
        #"{"id":"o","request":{"url":"flaky"},"stack":[{"use":"retry","attempts":3,"base":0.001,"max":0.01,"jitter":"none","budget":null,"statuses":[503],"methods":["GET"]}]}"#,
        #"{"id":"p","request":{"url":"x"},"stack":[{"use":"deadline","seconds":1},{"use":"attemptTimeout","seconds":1},{"use":"idleTimeout","seconds":1,"minBytesPerSecond":1,"window":1}]}"#,
        #"{"id":"q","request":{"url":"x"},"stack":[{"use":"limits","body":9,"ratio":9,"headerCount":9},{"use":"headers","set":[["A","1"]],"add":[["B","2"]]}]}"#,
        #"{"id":"r","request":{"url":"x"},"stack":[{"use":"log","to":"log.txt","level":"debug","body":9,"redactHeaders":["X"]},{"use":"metrics","to":"m.txt"}]}"#,
        #"{"id":"s","request":{"url":"x"},"transport":{"use":"mock","responses":[{"status":200,"headers":[["Content-Type","application/x-plist"]],"text":"<plist version=\"1.0\"><dict><key>a</key><real>1</real></dict></plist>"}]},"serialize":"propertyList"}"#,
        #"{"id":"t","request":{"url":"http://127.0.0.1:1/"},"transport":{"use":"mock","responses":[{"status":503,"base64":"AP8="},{"status":200}]},"stack":"standard"}"#,
        #"{"id":"u","request":{"url":"x"},"transport":{"use":"urlsession","maxConnectionsPerHost":2},"stack":[]}"#,
        #"{"id":"v","request":{"method":"POST","url":"x","form":{"a":"b","c":["d"]}}}"#,
        #"{"id":"w","request":{"method":"POST","url":"x","multipart":[{"name":"a","text":"b"},{"name":"f","filename":"g","type":"text/plain","base64":"YQ=="}],"boundary":"q"}}"#,
        #"{"id":"x","request":{"method":"POST","url":"x","propertyList":{"a":[1,true]}}}"#,
        #"{"id":"y","request":{"url":"x"},"stack":[{"use":"cookies"},{"use":"cache","memory":99},{"use":"coalesce"},{"use":"rateLimit","perSecond":9,"burst":9},{"use":"admissionControl","threshold":0.5,"slowness":null},{"use":"concurrencyLimit","total":2},{"use":"circuitBreaker"}]}"#,
        #"{"id":"z","request":{"url":"x"},"stack":[{"use":"basic","user":"u","password":{"env":"HOME"}},{"use":"bearer","token":{"file":"f"}},{"use":"hedge","after":0.01},{"use":"traceContext"},{"use":"idempotencyKey"},{"use":"urlPolicy"}]}"#,
        #"{"id":"0","request":{"url":"x"},"download":{"directory":"d","name":null,"resume":false,"overwrite":true}}"#,
    ]

    /// Names of members.
    static let names = [
        "id", "client", "stack", "transport", "baseURL", "request", "method", "url", "query",
        "headers", "text", "base64", "json", "form", "file", "stream", "chunk", "options",
        "limits", "serialize", "events", "download", "repeat", "concurrency", "maxItems", "use",
        "status", "responses", "", "\u{0}", "é",
    ]

    /// Values that are seldom thought of.
    static let oddities = [
        "null", "true", "0", "-0", "-1", "1e308", "-1e999", "0.1e-999", "9223372036854775807",
        "9223372036854775808", "18446744073709551616", "\"\"", "[]", "{}", "[[]]", "\"\\u0000\"",
        "\"\\ud800\"", "\"\\r\\nX: y\"", "\"{i}\"", "\"{\"", "\"}\"", "\"%zz\"", "\"%00\"",
        "\"//x\"",
        "\"ftp://x\"", "\"http://[::1]\"", "\"http://\"", "\"?\"", "\"#\"", "{\"env\":\"NO\"}",
        "{\"file\":\"no\"}", "{\"file\":\"f\"}", "{\"use\":\"mock\"}", "\"standard\"", "\"mock\"",
        "\"é\u{301}\u{1F600}\"", "\"\u{FEFF}\"", "\u{FEFF}", "\\", "\"", "{", "}", "[", "]", ",",
        ":",
        String(repeating: "[", count: 3000), String(repeating: "{\"a\":", count: 3000),
        "\"" + String(repeating: "x", count: 70_000) + "\"",
        String(repeating: "9", count: 5000), "[" + String(repeating: "1,", count: 2000) + "1]",
    ]
}
