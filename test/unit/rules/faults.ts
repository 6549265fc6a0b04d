// Tables of faults in the data of a node, each with exactly the expected problems.
import { describe, expect, test } from 'vitest'
import { codesOf, designAround } from './builders.ts'

/** Name, data, problems as `key code` within the data. */
type Row = [string, object, string[]]

/** Tests each row on a node of this type, whose handles lead to an exit. */
export function faults(type: string, handles: string[], rows: Row[]): void {
  describe(type, () => {
    test.each(rows)('%s', (_name, data, expected) => {
      const found = codesOf(designAround(type, data, ...handles))
      expect(found.map((code) => code.replace(/^nodes\.1\.data\.?/, ''))).toEqual(expected)
    })
  })
}
