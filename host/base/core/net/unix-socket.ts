/** The longest path of a Unix socket in bytes that every operating system accepts. */
export const LONGEST_SOCKET_PATH = 103;
