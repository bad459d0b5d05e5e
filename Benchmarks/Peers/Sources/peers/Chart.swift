// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A bar chart of the results by workload and client, for light and dark pages.
struct Chart {
    private let results: [PeerResult]

    init(_ results: [PeerResult]) { self.results = results }

    private static let width = 720
    private static let row = 17
    private static let labels = 150
    private static let own: Set<String> = [
        "client-urlsession", "curl", "curl-standard", "curl-executor", "curl-standard-executor",
    ]

    private static let style = """
        text{fill:#333}.h{font-weight:bold}.own{fill:#c8553d}.peer{fill:#7d8f9d}.ahc{fill:#4a7fb5}
        @media(prefers-color-scheme:dark){
        text{fill:#ddd}.own{fill:#e2765f}.peer{fill:#8fa1ae}.ahc{fill:#6ea3d8}}
        """

    func write(to file: String) throws {
        try svg.write(toFile: file, atomically: true, encoding: .utf8)
    }

    var svg: String {
        var lines: [String] = []
        var y = 4
        for (name, text, group) in results.byWorkload {
            func value(_ result: PeerResult) -> Double { name == "W4" ? result.mbps : result.rps }
            let most = group.map(value).max() ?? 1
            y += 18
            let unit = name == "W4" ? "10⁶ bytes a second" : "requests a second"
            lines.append(#"<text x="8" y="\#(y)" class="h">\#(name): \#(text); \#(unit)</text>"#)
            for result in group {
                y += Self.row
                let room = Double(Self.width - Self.labels - 70)
                let bar = max(1, Int(room * value(result) / most))
                lines.append(#"<text x="8" y="\#(y)">\#(result.client)</text>"#)
                lines.append(
                    #"<rect x="\#(Self.labels)" y="\#(y - 11)" width="\#(bar)" height="13" "#
                        + #"class="\#(Self.kind(result.client))"/>"#)
                let number = Int(value(result).rounded())
                lines.append(
                    #"<text x="\#(Self.labels + bar + 6)" y="\#(y)">\#(number)</text>"#)
            }
            y += 12
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(y + 8)" \
            viewBox="0 0 \(Self.width) \(y + 8)" role="img" font-family="sans-serif" font-size="12">
            <title>Requests a second of HTTP clients, workload by workload</title>
            <style>\(Self.style)</style>
            \(lines.joined(separator: "\n"))
            </svg>

            """
    }

    private static func kind(_ client: String) -> String {
        own.contains(client) ? "own" : client.hasPrefix("ahc") ? "ahc" : "peer"
    }
}
