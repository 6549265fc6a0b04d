// Types of rooms.mjs.

interface BiomeConfig {
  overrides: unknown[]
}

export const mayImport: Readonly<Record<string, string[]>>
export function withTable(config: BiomeConfig): BiomeConfig
export function readConfig(): BiomeConfig
