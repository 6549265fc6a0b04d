// Types of machine.mjs.
export function checkNode(): void
export function checkSystem(): void
export function systemProblem(system: { platform: string; arch: string; glibc: boolean }): string
