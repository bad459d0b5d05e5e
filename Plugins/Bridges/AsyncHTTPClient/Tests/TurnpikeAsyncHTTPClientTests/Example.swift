// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Turnpike
import TurnpikeAsyncHTTPClient

struct City: Codable, Sendable { var name: String }

func largestCity(at baseURL: Target) async throws -> String {
    // The HTTPClient of your service; its TLS, proxy and connection limits stay in force.
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.connectionPool.retryConnectionEstablishment = false
    let http = HTTPClient(configuration: configuration)

    let client = Client(
        baseURL: baseURL, transport: AsyncHTTPClientTransport(http, traits: .returnsRedirects))
    let answer: String
    do {
        answer = try await client.get("cities/largest").decode(City.self).name
    } catch {
        answer = "unknown: \(error)"
    }
    await client.shutdown(grace: .seconds(5))
    try await http.shutdown()
    return answer
}
