// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore

@testable import TurnpikeURLSession

@Suite("A certificate that URLSession refuses")
struct URLSessionCertificateTests {
    private func fault(_ text: String) -> ClientError {
        let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text])
        return URLSessionFault.classify(error, hasHead: false, bodyBytesSent: 0)
    }

    @Test("The error says what to try, and only where a certificate is the reason")
    func advice() {
        let refused = fault("SSL certificate problem: self-signed certificate")
        #expect(refused.code == .tls)
        #expect(refused.message.contains("the system trusts its authority"))
        let broken = fault("OpenSSL/3.0: error:0A00010B:SSL routines::wrong version number")
        #expect(broken.code == .tls)
        #expect(!broken.message.contains("authority"))
    }
}
