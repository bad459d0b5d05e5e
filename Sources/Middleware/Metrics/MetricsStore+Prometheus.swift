extension MetricsStore {
    /// The store in Prometheus' text format (version 0.0.4), names by OpenTelemetry's rules for it.
    public var prometheusText: String {
        let series = series.sorted { $0.key.sortKey < $1.key.sortKey }
        var text = Self.histograms("http_client_request_duration_seconds", series) { $0.duration }
        text += Self.histograms("http_client_request_body_size_bytes", series) {
            $0.requestBodySize
        }
        text += Self.histograms("http_client_response_body_size_bytes", series) {
            $0.responseBodySize
        }
        text += "# TYPE http_client_request_resends_total counter\n"
        for (labels, values) in series where values.resends > 0 {
            text += "http_client_request_resends_total{\(labels.text)} \(values.resends)\n"
        }
        text += "# TYPE http_client_active_requests gauge\n"
        for (server, count) in active.sorted(by: { $0.key < $1.key }) {
            text += "http_client_active_requests{server=\"\(Labels.escaped(server))\"} \(count)\n"
        }
        return text
    }

    private static func histograms(
        _ name: String, _ series: [(key: Labels, value: Series)], _ histogram: (Series) -> Histogram
    ) -> String {
        var text = "# TYPE \(name) histogram\n"
        for (labels, values) in series {
            let histogram = histogram(values)
            if histogram.count == 0 { continue }
            var cumulative = 0
            for (index, count) in histogram.counts.enumerated() {
                cumulative += count
                let bound =
                    index < histogram.bounds.count ? number(histogram.bounds[index]) : "+Inf"
                text += "\(name)_bucket{\(labels.text),le=\"\(bound)\"} \(cumulative)\n"
            }
            text += "\(name)_sum{\(labels.text)} \(histogram.sum)\n"
            text += "\(name)_count{\(labels.text)} \(histogram.count)\n"
        }
        return text
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && value < 1e15 ? String(Int(value)) : String(value)
    }
}

extension MetricsStore.Labels {
    fileprivate var sortKey: String { text }

    fileprivate var text: String {
        var parts = [
            ("http_request_method", method), ("server_address", address),
            ("server_port", String(port)),
        ]
        if let status { parts.append(("http_response_status_code", String(status))) }
        if let errorType { parts.append(("error_type", errorType)) }
        if let version { parts.append(("network_protocol_version", version)) }
        return parts.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    }

    fileprivate static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
            "\n", with: "\\n")
    }
}
