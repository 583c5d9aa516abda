const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether this Node runs TypeScript without compiling. */
export const runsTypeScript: boolean = major > 22 || (major === 22 && minor >= 18);
