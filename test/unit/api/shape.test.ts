// The look at the shape of JSON counts what stands outside of texts, wherever quotes are escaped.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkShape } from '../../../api/http/bodies/shape.ts'
import { limits } from '../../../rules/limits.ts'

const faultOf = (json: string): string | null => {
  try {
    checkShape(Buffer.from(json))
    return null
  } catch (err) {
    return (err as Error).message
  }
}

/** As many marks as there may be, but for those of `[`, `]` and of one comma. */
const fill = '0,'.repeat(limits.bodyMarksMax - 3)

it('counts none of a text, however it is escaped and however long it is', () => {
  const piece = fc.constantFrom('"', '\\', '{', '[', ',', ':', 'a', 'é', 'long '.repeat(12))
  for (const pieces of fc.sample(fc.array(piece, { maxLength: 40 }), 60)) {
    const text = JSON.stringify(pieces.join(''))
    expect(faultOf(`[${fill}${text}]`)).toBeNull()
    expect(faultOf(`[${fill}${text},0]`)).toBeNull()
    expect(faultOf(`[${fill}${text},0,0]`)).toMatch(/must not have more than/)
  }
})

it.each([0, 1, 2, 3])('ends a text at a quote after an even number of backslashes: %i', (odd) => {
  for (let length = 0; length < 80; length++) {
    const text = `"${'x'.repeat(length)}${'\\'.repeat(odd)}"`
    const isOver = odd % 2 === 0
    // What follows counts if the text is over, and is part of it if not.
    const fault = faultOf(`${text}${'['.repeat(limits.bodyDepthMax + 1)}`)
    expect([length, fault === null]).toEqual([length, !isOver])
  }
})

it('stays linear in texts of escapes', () => {
  const bytes = Buffer.from(`"${'\\"'.repeat(500_000)}${'\\\\'.repeat(250_000)}"`)
  const plain = Buffer.from(`"${'x'.repeat(1_500_000)}"`)
  const took = (which: Buffer) => {
    const began = process.cpuUsage()
    for (let i = 0; i < 5; i++) checkShape(which)
    return process.cpuUsage(began).user
  }
  took(bytes)
  expect(took(bytes)).toBeLessThan(200 * took(plain) + 1_000_000)
})
