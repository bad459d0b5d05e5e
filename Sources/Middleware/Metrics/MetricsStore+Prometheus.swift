// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension MetricsStore {
    /// The content of the store in Prometheus' text format (version 0.0.4).
    ///
    /// The names are OpenTelemetry's names with underscores, units and `_total`, by OpenTelemetry's
    /// rules for Prometheus. If two figures or labels have equal names in Prometheus, the later
    /// name gets a number.
    public var prometheusText: String {
        let snapshot = snapshot()
        var text = PrometheusText(labelNames: snapshot.labelNames)
        let series = snapshot.series.map { (labels: $0.key.attributes, values: $0.value) }
            .sorted { Self.isBefore($0.labels, $1.labels) }
        func add(_ name: String, _ help: String, _ histogram: (Series) -> Histogram) {
            text.begin(name, type: "histogram", help: help)
            for (labels, values) in series where histogram(values).count > 0 {
                text.add(name, labels, histogram(values))
            }
        }
        add(Self.durationName, "Duration of HTTP client requests, in seconds.") {
            $0.duration
        }
        add(
            Self.requestSizeName, "Size of HTTP client request bodies that are not empty, in bytes."
        ) { $0.requestBodySize }
        add(
            Self.responseSizeName,
            "Size of HTTP client response bodies as they were transferred, in bytes."
        ) {
            $0.responseBodySize
        }
        let resends = Self.resendsName
        text.begin(
            resends, type: "counter",
            help: "Requests that were sent again: retries, redirects and answers to challenges.")
        for (labels, values) in series where values.resends > 0 {
            text.add(resends, labels, Double(values.resends))
        }
        let underWay = Self.activeName
        text.begin(
            underWay, type: "gauge", help: "Running HTTP client requests, including their bodies.")
        let active = snapshot.active.map { (labels: $0.key.attributes, count: $0.value) }
        for (labels, count) in active.sorted(by: { Self.isBefore($0.labels, $1.labels) }) {
            text.add(underWay, labels, Double(count))
        }
        Self.add(snapshot, to: &text)
        return text.text
    }

    // The names of the store's own measurements, including the suffixes of histograms. A figure of
    // a gate never gets one of the names of the store.
    static let ownNames: Set<String> = {
        let histograms = [durationName, requestSizeName, responseSizeName]
        return Set(
            [resendsName, activeName] + histograms
                + histograms.flatMap { name in PrometheusNames.seriesOfHistogram.map { name + $0 } }
        )
    }()

    private static let durationName = "http_client_request_duration_seconds"
    private static let requestSizeName = "http_client_request_body_size_bytes"
    private static let responseSizeName = "http_client_response_body_size_bytes"
    private static let resendsName = "http_client_request_resends_total"
    private static let activeName = "http_client_active_requests"

    private static func add(_ snapshot: Snapshot, to text: inout PrometheusText) {
        var names = snapshot.names
        let figures = snapshot.figures.map { figure, value in
            (
                name: names.name(of: figure.name, figure.kind), kind: figure.kind,
                help: snapshot.help[figure.name],
                labels: attributes(of: figure), value: value
            )
        }
        let sorted = figures.sorted {
            $0.name == $1.name ? isBefore($0.labels, $1.labels) : $0.name < $1.name
        }
        var last: String?
        for figure in sorted {
            if figure.name != last {
                let type = figure.kind == .counter ? "counter" : "gauge"
                let help = figure.help ?? "A \(type) that its gate does not describe."
                text.begin(figure.name, type: type, help: help)
            }
            last = figure.name
            text.add(figure.name, figure.labels, figure.value)
        }
        addHistograms(snapshot, &names, to: &text)
    }

    private static func addHistograms(
        _ snapshot: Snapshot, _ names: inout PrometheusNames, to text: inout PrometheusText
    ) {
        let histograms = snapshot.histograms.map { figure, histogram in
            (
                name: names.name(of: figure.name, .histogram), help: snapshot.help[figure.name],
                labels: attributes(of: figure), histogram: histogram
            )
        }
        let sorted = histograms.sorted {
            $0.name == $1.name ? isBefore($0.labels, $1.labels) : $0.name < $1.name
        }
        var last: String?
        for figure in sorted {
            if figure.name != last {
                let help = figure.help ?? "A histogram in seconds that its gate does not describe."
                text.begin(figure.name, type: "histogram", help: help)
            }
            last = figure.name
            text.add(figure.name, figure.labels, figure.histogram)
        }
    }

    private static func attributes(of figure: GateFigure) -> Attributes {
        figure.labels.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    private typealias Attributes = [(name: String, value: String)]

    private static func isBefore(_ left: Attributes, _ right: Attributes) -> Bool {
        left.lazy.map(\.value).lexicographicallyPrecedes(right.lazy.map(\.value))
    }
}

extension PrometheusNames {
    /// The endings that Prometheus adds to the name of a histogram.
    static let seriesOfHistogram = ["_bucket", "_sum", "_count"]

    /// Returns the Prometheus name of a figure: a counter ends in `_total`, and a histogram ends in
    /// `_seconds`.
    mutating func name(of name: String, _ kind: GateFigure.Kind) -> String {
        switch kind {
        case .counter: self.name(for: name, endingIn: "_total")
        case .gauge: self.name(for: name)
        case .histogram:
            self.name(for: name, endingIn: "_seconds", reserving: Self.seriesOfHistogram)
        }
    }
}

struct PrometheusText {
    private(set) var text = ""
    private(set) var labelNames: PrometheusNames

    init(labelNames: PrometheusNames) { self.labelNames = labelNames }

    mutating func begin(_ name: String, type: String, help: String) {
        let line = Self.escaped(help, alsoQuotes: false)
        text += "# HELP \(name) \(line)\n# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: [(name: String, value: String)], _ value: Double) {
        add(name, labels.map { (labelNames.name(for: $0.name), $0.value) }, checked: value)
    }

    // The names of the labels are already translated for Prometheus.
    private mutating func add(_ name: String, _ labels: [(String, String)], checked value: Double) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }
        let block = list.isEmpty ? "" : "{" + list.joined(separator: ",") + "}"
        text += "\(name)\(block) \(Self.number(value))\n"
    }

    mutating func add(
        _ name: String, _ labels: [(name: String, value: String)], _ histogram: Histogram
    ) {
        let named = labels.map { (labelNames.name(for: $0.name), $0.value) }
        var cumulative = 0
        for (index, count) in histogram.counts.enumerated() {
            cumulative += count
            let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
            let bucket = named + [("le", Self.number(bound))]
            add(name + "_bucket", bucket, checked: Double(cumulative))
        }
        add(name + "_sum", labels, histogram.sum)
        add(name + "_count", labels, Double(histogram.count))
    }

    // Prometheus does not escape quotes in help texts.
    private static func escaped(_ value: String, alsoQuotes: Bool = true) -> String {
        var result = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"" where alsoQuotes: result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}
