// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike

/// Compares three policies for choosing an endpoint, and no choice, in seven kinds of weather.
///
/// `swift run -c release balance-study [--seeds N] [--seed FIRST] [--svg FILE] [--json]`
@main
struct BalanceStudy {
    static func main() async {
        let program = StudyProgram(
            "balance-study", "[--seeds 1...1000] [--seed FIRST] [--svg FILE] [--json]",
            maxSeeds: 1000)
        await program.run { options in
            var scenario = Scenario()
            scenario.seed = options.seed
            let seeds = options.seeds ?? 1
            let results = try await Study(scenario).run(seeds: seeds)
            let report = StudyReport(scenario: scenario, seeds: seeds, results: results)
            try options.show(
                table: report.table, json: report.json.description, svg: StudyChart(report).svg)
        }
    }
}
