/// The throughput of all clients, workload by workload, as bars of a share of the best one.
struct Chart {
    private let results: [Result]

    init(_ results: [Result]) { self.results = results }

    private static let width = 720
    private static let row = 16
    private static let labels = 150

    var svg: String {
        var workloads: [String] = []
        for result in results where !workloads.contains(result.workload) {
            workloads.append(result.workload)
        }
        var body = ""
        var y = 8
        for workload in workloads {
            let group = results.filter { $0.workload == workload }
            let most = group.map(\.rps).max() ?? 1
            y += 18
            body += #"<text x="8" y="\#(y)" class="h">\#(workload): requests a second</text>"#
            for result in group {
                y += Self.row
                let room = Double(Self.width - Self.labels - 90)
                let bar = max(1, Int(room * result.rps / most))
                let kind = result.client.hasPrefix("curl") ? "own" : "peer"
                body += #"<text x="8" y="\#(y)">\#(result.client)</text>"#
                body +=
                    #"<rect x="\#(Self.labels)" y="\#(y - 11)" width="\#(bar)" height="12" class="\#(kind)"/>"#
                body +=
                    #"<text x="\#(Self.labels + bar + 6)" y="\#(y)">\#(Int(result.rps))</text>"#
            }
            y += 12
        }
        return
            #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(Self.width)" height="\#(y + 8)" "#
            + #"font-family="sans-serif" font-size="12"><style>text{fill:#444}.h{font-weight:bold}"#
            + #".own{fill:#c8553d}.peer{fill:#8a9ba8}@media(prefers-color-scheme:dark){text{fill:#ccc}}"#
            + "</style>\(body)</svg>\n"
    }
}
