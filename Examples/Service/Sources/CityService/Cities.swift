// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import Turnpike
import TurnpikeHTTPTypes
import TurnpikeTraffic

/// The answer to `/cities/:name`.
struct City: ResponseCodable, Sendable {
    struct Weather: Codable, Sendable { let celsius: Int }
    struct Place: Codable, Sendable { let inhabitants: Int }

    let name: String
    let place: Place
    /// Nil if it did not arrive in time: a city without its weather is better than no city.
    let weather: Weather?
}

/// Asks both upstreams about a city within the caller's remaining time.
struct Cities: Sendable {
    let weather, places: Client

    func answer(
        _ request: Hummingbird.Request, _ context: some RequestContext
    ) async throws -> City {
        let name = try context.parameters.require("name")
        do {
            let caller = try HTTPHeaders(request.headers)
            // A tenth of the time is left for the way back.
            let left = Self.patience.timeLeft(in: caller).map { $0 * 9 / 10 }
            let end = left.map { self.weather.timeSource.now.advanced(by: $0) }
            // The answer of an upstream may depend on the language. No other field is passed on.
            var headers = HTTPHeaders()
            headers["Accept-Language"] = caller["Accept-Language"]
            // Both calls are children of this task, so they inherit its trace, and its logger with
            // the ID of the request. If `place` fails, the other call is cancelled.
            async let weather = weather.request(
                .get, .path("weather/{city}", ["city": name]), headers: headers
            ).deadline(until: end).decode(City.Weather.self)
            async let place = places.request(
                .get, .path("places/{city}", ["city": name]), headers: headers
            ).deadline(until: end).decode(City.Place.self)
            return City(
                name: name, place: try await place, weather: try? await weather)
        } catch let error as ClientError {
            throw Self.answer(to: error)
        }
    }

    /// The field in which Envoy states how long the caller waits.
    ///
    /// The deadlines of the clients apply in any case.
    private static let patience = DeadlineField.milliseconds("X-Envoy-Expected-Rq-Timeout-Ms")

    /// Converts an error into an answer: who caused it, and when to try again.
    ///
    /// The log has the error itself, because it may contain what the caller must not know.
    private static func answer(to error: ClientError) -> HTTPError {
        let status: HTTPResponse.Status =
            switch error.code {
            case .invalidRequest: .badRequest
            case .deadlineExceeded: .gatewayTimeout
            case .circuitOpen, .overloaded, .rateLimited, .retryBudget: .serviceUnavailable
            default: .badGateway
            }
        var headers = HTTPFields()
        if let wait = error.retryAfter {
            headers[.retryAfter] = "\(wait.components.seconds + 1)"
        }
        return HTTPError(status, headers: headers, message: error.code.rawValue)
    }
}
