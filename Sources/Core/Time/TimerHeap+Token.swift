import TurnpikeSupport

extension TimerHeap.Timer: TimerToken {}
