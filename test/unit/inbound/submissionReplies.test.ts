// What the HTTP interface and SMTP say of the same refusal.
import { describe, expect, test } from 'vitest'
import { toApiError } from '../../../api/http/refusals.ts'
import { readFrom } from '../../../inbound/submission/addresses.ts'
import { watchLines } from '../../../inbound/submission/lines.ts'
import { toReply } from '../../../inbound/submission/replies.ts'
import { refuse } from '../../../rules/refusals.ts'

describe('refusals', () => {
  const met = [
    refuse('domain_not_found', { name: 'a.test' }),
    refuse('domain_not_of_key', { name: 'a.test' }),
    refuse('domain_not_verified', { name: 'a.test' }),
    refuse('html_too_large', { html_bytes: 50_000_000 }),
    refuse('subject_missing', {}),
    refuse('subject_too_long', { chars: 1_200 }),
  ]
  test.each(met)('$code has the code and the text of the HTTP interface', (refusal) => {
    const { code, message } = toApiError(refusal)
    const reply = toReply(refusal)
    const said = code === null ? message : `${code}: ${message}`
    expect(reply.message.replace(/^5\.\d\.\d /, '')).toBe(said)
    expect([550, 552]).toContain(reply.responseCode)
  })

  test('what no submission meets is a fault of ours: its sender keeps the mail', () => {
    const reply = toReply(refuse('version_conflict', { expected: 1, currentVersion: 2 }))
    expect(reply.responseCode).toBe(451)
    expect(reply.message).toMatch(/^4\.3\.0 service_unavailable: /)
  })

  test('a reply is one line of visible ASCII, however a name looks', () => {
    const { message } = toReply(
      refuse('domain_not_found', { name: `ü\r\n250 ok${'x'.repeat(999)}` }),
    )
    expect(message).toMatch(/^[\x20-\x7e]{1,480}$/)
  })
})

describe('From', () => {
  test.each([
    ['hello@sender.test', 'hello@sender.test'],
    ['<hello@Sender.TEST>', 'hello@sender.test'],
    ['Team <hello@sender.test>', 'Team <hello@sender.test>'],
    ['"Smith, Jane" <j@sender.test>', '"Smith, Jane" <j@sender.test>'],
    ['=?utf-8?q?J=C3=B6rg?= <j@sender.test>', 'Jörg <j@sender.test>'],
    ['Grüße <j@sender.test>', 'Grüße <j@sender.test>'],
  ])('%s', (value, shown) => {
    expect(readFrom(value)?.shown).toBe(shown)
  })

  test.each([
    'a@sender.test, b@other.test',
    'a@other.test (<b@sender.test>)',
    'Friends: a@sender.test;',
    '<@other.test:a@sender.test>',
    '<a@sender.test> <b@other.test>',
    'a@other.test <b@sender.test>',
    'a@sender.test b@other.test',
    '"a"@sender.test',
    'nobody',
    '',
  ])('%s is not one mailbox', (value) => {
    expect(readFrom(value)).toBeNull()
  })
})

test('lines: the first fault, wherever the message is cut', () => {
  const faultOf = (text: string) => {
    const bytes = Buffer.from(text, 'latin1')
    const found = Array.from({ length: bytes.length + 1 }, (_, at) => {
      const lines = watchLines()
      lines.add(bytes.subarray(0, at))
      lines.add(bytes.subarray(at))
      return lines.fault()
    })
    expect(new Set(found).size).toBe(1)
    return found[0]
  }
  expect(faultOf('a\r\n.b\r\n')).toBeNull()
  expect(faultOf('a\n.\nb\r\n')).toBe('half_line_end')
  expect(faultOf('a\r.\rb\r\n')).toBe('half_line_end')
  expect(faultOf('a\r\n.\rb\r\n')).toBe('half_line_end')
  expect(faultOf('a\r')).toBe('half_line_end')
  expect(faultOf('a\0\r\n')).toBe('nul')
  expect(faultOf(`${'x'.repeat(998)}\r\n`)).toBeNull()
  expect(faultOf(`${'x'.repeat(999)}\r\n`)).toBe('long_line')
})
