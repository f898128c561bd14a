# SPDX-License-Identifier: Apache-2.0
"""The services of a soak: started, killed, watched and started again (soak.py)."""
import os
import signal
import statistics
import subprocess
import threading
import time


class Daemon:
    """One of the two, which is started again when it has ended."""

    def __init__(self, name, command, folder, passphrase=None):
        self.name, self.command, self.folder, self.passphrase = name, command, folder, passphrase
        self.starts, self.unexpected, self.killed = 0, 0, False
        self.resident = []  # (seconds since the start, kB)
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.start()

    def start(self):
        arguments = dict(env={**os.environ, 'HEFT_STATE_DIR': os.path.join(self.folder, 'anchors' if self.passphrase else 'state')},
                         stderr=open(os.path.join(self.folder, 'log'), 'a'))
        if self.passphrase is None:
            self.process = subprocess.Popen(self.command, **arguments)
        else:
            with open(self.passphrase) as file:
                self.process = subprocess.Popen(
                    ['bash', '-c', f'exec "$@" 3<&{file.fileno()}', 'decider', *self.command],
                    pass_fds=[file.fileno()], **arguments)
        self.starts += 1

    def watch(self):
        """Called often: memory, and starting again."""
        with self.lock:
            if self.process.poll() is not None:
                if not self.killed:
                    self.unexpected += 1
                self.killed = False
                self.start()
                return
            try:
                with open(f'/proc/{self.process.pid}/status') as file:
                    for line in file:
                        if line.startswith('VmRSS:'):
                            self.resident.append((time.monotonic() - self.begun, int(line.split()[1])))
            except OSError:
                pass

    def signal(self, number):
        with self.lock:
            if self.process.poll() is None:
                self.killed = number == signal.SIGKILL
                self.process.send_signal(number)

    def stop(self):
        with self.lock:
            self.process.terminate()
            code = self.process.wait(60)
            return code == 0


def memory(daemon, seconds):
    """Kilobytes: the median of the second and of the last quarter, and the most; opening a sealed key
    takes 256 MB for a moment."""
    def median(begin, end):
        return statistics.median([kb for at, kb in daemon.resident if begin * seconds <= at < end * seconds] or [0])
    return {'second_quarter_kb': median(0.25, 0.5), 'last_quarter_kb': median(0.75, 1.01),
            'most_kb': max((kb for _, kb in daemon.resident), default=0)}
