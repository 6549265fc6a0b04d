// A group that Postgres refuses is written one by one where that helps: not where it takes nothing.
import { expect, test } from 'vitest'
import { writeGroupOrEach } from '../../../delivery/writeGroupOrEach.ts'

const fault = (code: string) => Object.assign(new Error('refused'), { code })

test.each(['53100', '58030', '25006', '42501', 'ECONNREFUSED'])(
  'a group that fails by %s is not written one by one: Postgres takes nothing now',
  async (code) => {
    const written: number[][] = []
    const faults = await writeGroupOrEach([1, 2, 3], async (some) => {
      written.push(some)
      throw fault(code)
    })
    expect(faults).toHaveLength(3)
    expect(written).toEqual([[1, 2, 3]])
  },
)

test.each(['55P03', '57014', '40P01', '53200'])(
  'a group that fails by %s, and of which three do alone, is written one by one no further',
  async (code) => {
    const written: number[][] = []
    const faults = await writeGroupOrEach([1, 2, 3, 4, 5, 6], async (some) => {
      written.push(some)
      if (some.some((one) => one > 1)) throw fault(code)
    })
    expect(faults.map((one) => one !== undefined)).toEqual([false, true, true, true, true, true])
    expect(written).toEqual([[1, 2, 3, 4, 5, 6], [1], [2], [3], [4]])
  },
)

test.each(['23505', '22P05', '54000', 'XX000', 'P0001', '55P03', '57014', '40P01', '53200'])(
  'a group that fails by %s, which one of it may have caused, is written one by one',
  async (code) => {
    const faults = await writeGroupOrEach([1, 2, 3], async (some) => {
      if (some.includes(2)) throw fault(code)
    })
    expect(faults.map((one) => one !== undefined)).toEqual([false, true, false])
  },
)
