"""`python -P tests/no_sockets.py CALL ARGUMENT...` is `lisax ARGUMENT...` in a process that the kernel ends (SIGSYS) when it,
or one that it starts, makes the system call with an internet address, in C++ too. Without ARGUMENT it loads what training
loads."""

import ctypes
import os
import struct
import sys

# Number of the call on x86-64 and on ARM, its argument that says it, and that argument's values for IPv4 and IPv6.
CALLS = {"socket": (41, 198, 0, 2, 10), "connect": (42, 203, 2, 16, 28)}
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
TRAP, ALLOW = 0x00030000, 0x7FFF0000
UNSUPPORTED = 77  # the exit code where the kernel has no such filters


def forbid(call: str) -> None:
    *numbers, argument, ipv4, ipv6 = CALLS[call]
    number = numbers[os.uname().machine == "aarch64"]
    code = [(LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 3, number), (LOAD, 0, 0, 16 + 8 * argument)]
    code += [(JUMP_IF_EQUAL, 2, 0, ipv4), (JUMP_IF_EQUAL, 1, 0, ipv6), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, TRAP)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(instructions)))
    libc = ctypes.CDLL(None)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, program, 0, 0):
        sys.exit(UNSUPPORTED)


if __name__ == "__main__":
    forbid(sys.argv.pop(1))
    if sys.argv[1:] == ["--open"]:
        import socket

        socket.socket().connect(("127.0.0.1", 9))
    elif sys.argv[1:]:
        from lisax.cli import main

        sys.exit(main())
    else:
        import jax

        jax.devices()
