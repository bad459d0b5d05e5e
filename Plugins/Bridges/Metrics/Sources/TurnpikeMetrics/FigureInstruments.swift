// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import TurnpikeEssentials

struct FigureInstruments {
    enum Instrument {
        case counter(any FloatingPointCounterHandler)
        case gauge(any MeterHandler)
        case histogram(any TimerHandler)
    }

    private struct Shape {
        let kind: GateFigure.Kind
        let dimensions: [String]
    }

    /// The labels that gates of this library set only on some series of a metric.
    private static let commonDimensions = ["server.address", "server.port", "turnpike.gate.id"]

    private let factory: any MetricsFactory
    private let maxSeries: Int
    private var shapes: [String: Shape] = [:]
    private var made: [GateFigure: Instrument] = [:]
    private var known: [GateFigure: Instrument] = [:]

    init(factory: any MetricsFactory, maxSeries: Int) {
        self.factory = factory
        self.maxSeries = maxSeries
    }

    mutating func instrument(for figure: GateFigure) -> Instrument? {
        if let instrument = known[figure] { return instrument }
        guard let shape = shape(of: figure) else { return nil }
        var series = Self.series(of: figure, shape) { figure.labels[$0] ?? "" }
        if made[series] == nil, made.count >= maxSeries {
            series = Self.series(of: figure, shape) { _ in "_OTHER" }
        }
        let instrument = made[series] ?? make(series, shape)
        if known.count < maxSeries { known[figure] = instrument }
        return instrument
    }

    private mutating func shape(of figure: GateFigure) -> Shape? {
        if let shape = shapes[figure.name] { return shape.kind == figure.kind ? shape : nil }
        // A name may have one series beyond the limit. Twice the limit stops new names.
        if made.count >= 2 * maxSeries || PassInstruments.names.contains(figure.name) { return nil }
        let own = figure.labels.keys.filter { !Self.commonDimensions.contains($0) }
        let shape = Shape(kind: figure.kind, dimensions: Self.commonDimensions + own.sorted())
        shapes[figure.name] = shape
        return shape
    }

    private static func series(
        of figure: GateFigure, _ shape: Shape, _ value: (String) -> String
    ) -> GateFigure {
        let labels = shape.dimensions.map { ($0, value($0)) }
        return GateFigure(
            name: figure.name, kind: figure.kind, labels: Dictionary(uniqueKeysWithValues: labels))
    }

    private mutating func make(_ series: GateFigure, _ shape: Shape) -> Instrument {
        let dimensions = shape.dimensions.map { ($0, series.labels[$0] ?? "") }
        let instrument: Instrument =
            switch series.kind {
            case .counter:
                .counter(
                    factory.makeFloatingPointCounter(label: series.name, dimensions: dimensions))
            case .gauge:
                .gauge(factory.makeMeter(label: series.name, dimensions: dimensions))
            case .histogram: .histogram(timer(series.name, dimensions))
            }
        made[series] = instrument
        return instrument
    }

    private func timer(_ name: String, _ dimensions: [(String, String)]) -> any TimerHandler {
        let timer = factory.makeTimer(label: name, dimensions: dimensions)
        timer.preferDisplayUnit(.seconds)
        return timer
    }
}
