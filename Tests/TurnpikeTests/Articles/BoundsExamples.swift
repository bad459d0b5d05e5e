// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting

// The examples of the article.
private struct Tenant: SynchronousRequestAdapter {
    func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = "blue" }
}

private struct Patience: Interceptor {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts("waits a second", .waits(atMost: .seconds(1), reason: "better weather"))
    }
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await context.sleep(for: .seconds(1))
        return try await next(request)
    }
}

@Suite("The article on bounds")
struct BoundsExamples {
    private let transport = MockTransport([])

    @Test("A stack tells what a call can cost")
    func ask() {
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .deadline(.seconds(30)), .redirect(limit: 3), .retry(attempts: 4),
                .attemptTimeout(.seconds(5)),
            ])
        let request = Request(.get, "https://api.example.com/users")
        let explanation = client.stack.explain(request, on: client.transport)
        print(explanation)
        #expect(explanation.worst.time.value == .seconds(30))
        #expect(explanation.worst.sends.value == 15)
        #expect(explanation.worst.time.places == ["1"])  // the deadline
        #expect(transport.sentCount == 0)
    }

    @Test("What is unbounded or unknown is said to be so")
    func unknown() {
        let request = Request(.get, "https://api.example.com/users")
        let loose: Stack = [.retry(attempts: 3), .attemptTimeout(.seconds(5))]
        #expect(loose.explain(request, on: transport).worst.time.limit == .unbounded)
        let bare: Stack = [.deadline(.seconds(10))]
        #expect(bare.explain(request, on: transport).worst.sends.value == 2)
        #expect(Stack([Retry(attempts: 4)]).explain(request, on: transport).worst.sends.value == 4)
        let tenant = Stack([Deadline(.seconds(2)), Tenant()]).explain(request, on: transport)
        #expect(tenant.gates[1].status == .unknown)
        #expect(tenant.worst.time.value == .seconds(2))
        #expect(tenant.worst.memory.limit == .unknown)
    }

    @Test("The order decides, and facts of one's own count")
    func order() {
        let request = Request(.get, "https://api.example.com/users")
        let gates: [any Gate] = [Deadline(.seconds(10)), Retry(attempts: 3, maxKeptBytes: 0)]
        let outside = Stack(gates), inside = Stack(gates.reversed())
        #expect(inside.explain(request, on: transport).worst.time.value == .milliseconds(150_300))
        #expect(outside.explain(request, on: transport).worst.time.value == .seconds(10))
        let patient = Stack([Retry(attempts: 2, maxRetryAfter: .zero), Patience()])
        #expect(patient.explain(request, on: transport).worst.waiting.value == .seconds(3))
    }
}
