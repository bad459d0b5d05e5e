// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension TimerHeap.Timer: TimerToken {}
