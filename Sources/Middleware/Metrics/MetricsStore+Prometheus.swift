extension MetricsStore {
    /// The store in Prometheus' text format (version 0.0.4): OpenTelemetry's names, with
    /// underscores, units and `_total` by its rules for Prometheus.
    public var prometheusText: String {
        var text = PrometheusText()
        let series = series.map { (labels: $0.key.attributes, values: $0.value) }
            .sorted { Self.isBefore($0.labels, $1.labels) }
        func add(_ name: String, _ help: String, _ histogram: (Series) -> Histogram) {
            text.begin(name, type: "histogram", help: help)
            for (labels, values) in series where histogram(values).count > 0 {
                text.add(name, labels, histogram(values))
            }
        }
        add("http_client_request_duration_seconds", "Duration of HTTP client requests.") {
            $0.duration
        }
        add("http_client_request_body_size_bytes", "Size of HTTP client request bodies.") {
            $0.requestBodySize
        }
        add("http_client_response_body_size_bytes", "Size of HTTP client response bodies.") {
            $0.responseBodySize
        }
        let resends = "http_client_request_resends_total"
        text.begin(resends, type: "counter", help: "Requests that were sent again.")
        for (labels, values) in series where values.resends > 0 {
            text.add(resends, labels, Double(values.resends))
        }
        let underWay = "http_client_active_requests"
        text.begin(underWay, type: "gauge", help: "HTTP client requests that are under way.")
        let active = active.map { (labels: $0.key.attributes, count: $0.value) }
        for (labels, count) in active.sorted(by: { Self.isBefore($0.labels, $1.labels) }) {
            text.add(underWay, labels, Double(count))
        }
        addFigures(to: &text)
        return text.text
    }

    private func addFigures(to text: inout PrometheusText) {
        let figures = figures.map { figure, value in
            (
                name: Self.name(of: figure), kind: figure.kind,
                labels: figure.labels.sorted { $0.key < $1.key }.map {
                    (name: $0.key, value: $0.value)
                },
                value: value
            )
        }
        let sorted = figures.sorted {
            $0.name == $1.name ? Self.isBefore($0.labels, $1.labels) : $0.name < $1.name
        }
        var last: String?
        for figure in sorted {
            if figure.name != last {
                let type = figure.kind == .counter ? "counter" : "gauge"
                text.begin(figure.name, type: type, help: "A figure of a gate.")
            }
            last = figure.name
            text.add(figure.name, figure.labels, figure.value)
        }
    }

    private static func name(of figure: GateFigure) -> String {
        let name = PrometheusText.metricName(figure.name)
        return figure.kind == .counter && !name.hasSuffix("_total") ? name + "_total" : name
    }

    private typealias Attributes = [(name: String, value: String)]

    private static func isBefore(_ left: Attributes, _ right: Attributes) -> Bool {
        left.lazy.map(\.value).lexicographicallyPrecedes(right.lazy.map(\.value))
    }
}
