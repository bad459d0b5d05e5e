// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike

/// Compares how replicas with local limits and with shared limits use a quota.
///
/// `swift run -c release fleet-study [--seed SEED] [--svg FILE] [--json]`
@main
enum FleetStudy {
    static func main() async {
        await StudyProgram("fleet-study", "[--seed SEED] [--svg FILE] [--json]").run { options in
            var scenario = Scenario()
            scenario.seed = options.seed
            let report = StudyReport(
                scenario: scenario, results: try await Study(scenario).run())
            try options.show(
                table: report.table, json: report.json.description, svg: StudyChart(report).svg)
        }
    }
}
