/** The longest path of a Unix socket in bytes, which fits into the addresses of every operating system. */
export const LONGEST_SOCKET_PATH = 103;
