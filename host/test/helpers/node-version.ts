const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether this Node takes the types out of TypeScript by itself. */
export const runsTypeScript: boolean = major > 22 || (major === 22 && minor >= 18);
