// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOHTTP1
import TurnpikeEssentials
import TurnpikeSupport

struct WireRequest {
    let request: HTTPClient.Request
    /// Whether the transport decodes the content of the response.
    let isDecoded: Bool

    init(
        _ request: TurnpikeEssentials.Request, body: HTTPClient.Body?,
        _ traits: AsyncHTTPClientTransport.ClientTraits
    ) throws {
        if let fault = Self.fault(of: request) { throw fault }
        let uri = request.targetURI
        // The URL contains no user and no fragment, because these parts are not sent.
        guard let origin = uri.origin, let url = URL(string: uri.absoluteForm) else {
            throw ClientError(.invalidRequest, "Foundation does not accept this URL")
        }
        var headers = NIOHTTP1.HTTPHeaders()
        headers.reserveCapacity(request.headers.count + 3)
        // async-http-client would send an IPv6 address without brackets.
        headers.add(name: "Host", value: Self.host(origin))
        var hasAgent = false
        var hasAcceptEncoding = false
        for field in request.headers {
            switch field.name {
            case .host, .contentLength, .transferEncoding: continue
            case .userAgent: hasAgent = true
            case .acceptEncoding: hasAcceptEncoding = true
            default: break
            }
            headers.add(name: field.name.rawValue, value: field.value)
        }
        if !hasAgent { headers.add(name: "User-Agent", value: "turnpike") }
        let leavesDecoding = traits.contains(.decodesContent)
        if !hasAcceptEncoding {
            let codings =
                leavesDecoding
                ? WireHead.codings.joined(separator: ", ") : CompressionFormat.acceptEncoding
            headers.add(name: "Accept-Encoding", value: codings)
        }
        isDecoded = !hasAcceptEncoding && !leavesDecoding
        do {
            self.request = try HTTPClient.Request(
                url: url, method: NIOHTTP1.HTTPMethod(rawValue: request.method.rawValue),
                headers: headers, body: body)
        } catch {
            throw Fault.of(error, TransferState(.connecting))
        }
    }

    private static func fault(of request: TurnpikeEssentials.Request) -> ClientError? {
        if request.method == .connect {
            return ClientError(
                .unsupported,
                "CONNECT is not supported; name a proxy in the configuration of the HTTPClient")
        }
        if request.asksServer {
            return ClientError(
                .unsupported,
                "async-http-client cannot send OPTIONS *; add a slash after the host, or use the"
                    + " curl transport")
        }
        return nil
    }

    private static func host(_ origin: Origin) -> String {
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        let standard = origin.scheme == "https" ? 443 : 80
        return origin.port == standard ? host : "\(host):\(origin.port)"
    }
}
