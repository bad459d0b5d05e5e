// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

extension RequestBody {
    /// Creates a form of texts and files as `multipart/form-data` (RFC 7578).
    ///
    /// Files are read while they are sent.
    static func form(of fields: [SendOptions.Field]) -> RequestBody {
        var form = MultipartFormData()
        for field in fields {
            switch field.value {
            case .text(let text): form.append(text, name: field.name)
            case .file(let path):
                let file = URL(filePath: path)
                form.append(file: file, name: field.name, filename: file.lastPathComponent)
            }
        }
        return .multipart(form)
    }
}
