import Testing
import TurnpikeInspection

@Suite("Severities")
struct LintSeverityTests {
    @Test("Each has a name for JSON")
    func names() {
        #expect(LintSeverity.allCases.map(\.rawValue) == ["error", "warning", "hint"])
    }
}
