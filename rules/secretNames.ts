// Names of secrets, and where a design reads them.
import type { Json } from './json.ts'
import { limits } from './limits.ts'

const NAME = new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${limits.secretNameCharsMax - 1}}$`)
/** `secrets.NAME` and `secrets["NAME"]`. */
const READ = /\bsecrets\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*["']([^"']*)["']\s*\])/g

export const isSecretName = (text: string): boolean => NAME.test(text)

/** The secrets that the texts of a value read, each once. */
export function secretNamesIn(value: Json | object): string[] {
  const names = [...JSON.stringify(value).replaceAll('\\"', '"').matchAll(READ)]
  return [...new Set(names.map(([, plain, quoted]) => plain ?? quoted ?? ''))]
}
