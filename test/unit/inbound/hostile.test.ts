// Hostile reports, and real ones that are changed at random: their cost is linear in their size, and none throws.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { parseReport } from '../../../mail/reports/parseReport.ts'
import { cpuOf, expectLinear } from '../../setup/growth.ts'
import { rawReport, rawStatus } from './reports.ts'

/** How much more the changed reports may cost in all than the original ones; inserted text counts too. */
const CHANGED_COST_MAX = 20

// The most expensive ones take seconds on a slow machine.
vi.setConfig({ testTimeout: 60_000 })

const FOLDER = join(import.meta.dirname, '..', '..', 'fixtures', 'reports')
const files = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file)))

const full = (piece: string) => piece.repeat(Math.floor(MESSAGE_BYTES_MAX / piece.length))

describe('hostile reports of the largest size', () => {
  const html = (piece: string) => `Content-Type: text/html\r\n\r\n${full(piece)}`
  test.each<[string, string]>([
    ['line ends', full('\n')],
    ['headers', full('A: b\r\n')],
    ['one header', `Subject: ${full('x')}`],
    ['encoded words', `Subject: ${'=?utf-8?q?x?= '.repeat(9000)}\r\n\r\n`],
    ['addresses', `From: ${'"a" <a@b.test>, '.repeat(8000)}\r\n\r\n`],
    ['open angles in an address', `From: ${'<'.repeat(120_000)}\r\n\r\n`],
    ['open brackets in an address', `From: ${'('.repeat(120_000)}\r\n\r\n`],
    ['boundaries', rawReport([full('--b\r\n\r\n')])],
    ['lines like boundaries', rawReport([full('--bb\r\n')])],
    ['fields', rawStatus([full('Action: failed\r\n')])],
    ['folded fields', rawStatus([`Diagnostic-Code: smtp; 550\r\n${full(' x\r\n')}`])],
    ['groups', rawStatus([full('Status: 4\r\n\r\n')])],
    ['a field without an end', rawStatus([`Diagnostic-Code: ${full('5.1.1.')}`])],
    ['digits', rawStatus([`Status: ${full('5')}`])],
    ['open tags', html('<')],
    ['tags', html('<br>')],
    ['open comments', html('<!--')],
    ['entities', html('&lt;')],
    ['unfinished attributes', html('<a href="')],
    ['spaces', html(' ')],
    ['dashes', `From: postmaster@a.test\r\nSubject: failure notice\r\n\r\n${full('-')}`],
    [
      'words',
      `From: postmaster@a.test\r\nSubject: failure notice\r\n\r\n${full('user mailbox is ')}`,
    ],
    ['codes', `From: postmaster@a.test\r\nSubject: failure notice\r\n\r\n${full('550 ')}`],
    ['quoted-printable', `Content-Transfer-Encoding: quoted-printable\r\n\r\n${full('=3D')}`],
    ['broken base64', `Content-Transfer-Encoding: base64\r\n\r\n${full('A=')}`],
    ['parameters', `Content-Type: text/plain; ${'a*0*=x; '.repeat(12_000)}\r\n\r\n`],
  ])('%s: no more than so many times a part of it', async (_, mail) => {
    const bytes = Buffer.from(mail, 'latin1').subarray(0, MESSAGE_BYTES_MAX)
    await expectLinear((share) => parseReport(bytes.subarray(0, bytes.length * share)))
  })
})

test('no change of a real report makes the parser throw or take long', async () => {
  let [changed_ms, unchanged_ms] = [0, 0]
  const change = fc.record({
    file: fc.nat({ max: files.length - 1 }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat({ max: 400 }),
    insert: fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(
          '\r\n',
          '\r\n\r\n',
          '--',
          '=',
          ';',
          ':',
          '"',
          '<',
          '(',
          'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
        )
        .map((text) => Buffer.from(text.repeat(40))),
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const original = files[changes[0]?.file ?? 0] ?? Buffer.alloc(0)
      let mail = original
      for (const { at, remove, insert } of changes) {
        const from = Math.floor(at * mail.length)
        mail = Buffer.concat([mail.subarray(0, from), insert, mail.subarray(from + remove)])
      }
      unchanged_ms += await cpuOf(() => parseReport(original))
      changed_ms += await cpuOf(async () => {
        expect(['bounce', 'complaint', 'nothing']).toContain((await parseReport(mail)).kind)
      })
    }),
    { numRuns: 400 },
  )
  expect(changed_ms / unchanged_ms).toBeLessThan(CHANGED_COST_MAX)
})
