// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension CurlTransport {
    /// Sends a request for another protocol on a separate connection, within the limits for
    /// upgraded connections.
    func upgrade(
        _ request: Request, to name: String, context: Context
    ) async throws -> Response {
        try context.checkCancellation()
        guard request.method == .get, request.body.isEmpty else {
            throw ClientError(
                .unsupported, "a request for another protocol must be a GET without content")
        }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ClientError(
                .invalidRequest,
                "found \(Grammar.escaped(name, upTo: 40)) as the protocol to switch"
                    + " to; expected a name of visible ASCII")
        }
        let begin = context.timeSource.now
        let transfer = CurlTransfer(
            request,
            wire: try CurlRequest(
                request, body: .empty, length: nil, decodes: false, isFresh: true,
                route: try route(of: request)),
            upload: nil, offersHTTP2: false)
        // HTTP/2 has no upgrade (RFC 9113 §8.6).
        transfer.need(.http1, of: nil)
        if transfer.request.isSecure, let (trust, news) = trustFiles?.currentWithNews() {
            transfer.trust = trust
            if let news { context.report(news, by: "CurlTransport") }
        }
        let channel = CurlUpgrade(transfer, in: upgrades)
        let registration = context.onCancel { [weak channel] _ in channel?.close() }
        defer { registration.end() }
        do {
            let times = try await channel.connect()
            times.report(in: context, since: begin, at: transfer.request.route?.target)
            try await channel.write(request.headAsking(for: name))
            var answer = UpgradeAnswer(channel)
            let head = try await answer.head(request.url)
            guard head.response.status == 101 else {
                let content = try await answer.content(of: head)
                channel.close()
                return Response(head: head.response, body: ResponseBody(content))
            }
            // Both fields are required (RFC 9110 §7.8). A WebSocket must fail without either field
            // (RFC 6455 §4.1).
            let options = (head.response.headers[.connection] ?? "").split(separator: ",")
            guard let agreed = head.response.headers[.upgrade],
                options.contains(where: {
                    Grammar.equalsIgnoringCase(String(Grammar.trimmed($0)), "Upgrade")
                })
            else { throw CurlHead.broken("the status is 101, but no protocol is named") }
            answer.leaveRest()
            try context.checkCancellation()
            var response = Response(head: head.response)
            response.upgradedConnection = UpgradedConnection(channel, protocolName: agreed)
            return response
        } catch {
            channel.close()
            try context.checkCancellation()
            throw error
        }
    }
}

extension Request {
    fileprivate func headAsking(for name: String) -> Data {
        let uri = targetURI
        let form = uri.absoluteForm
        let start = form.firstRange(of: "://")?.upperBound ?? form.startIndex
        let authority = form[start...].prefix { !"/?#".contains($0) }
        var text = "GET \(uri.originForm) HTTP/1.1\r\nHost: \(authority)\r\n"
        text += "Connection: Upgrade\r\nUpgrade: \(name)\r\n"
        for field in headers where field.name != .host && field.name != .contentLength {
            text += "\(field.name.rawValue): \(field.value)\r\n"
        }
        if headers[.userAgent] == nil { text += "User-Agent: turnpike\r\n" }
        return Data((text + "\r\n").utf8)
    }
}
