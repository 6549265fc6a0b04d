// Which requests are made by machines, and the client address of a request.
import { describe, expect, it } from 'vitest'
import { createClientIp } from '../../../api/http/clientIp.ts'
import { isBurst, machineOf, showsScanner } from '../../../rules/mail/machines.ts'

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const MACOS =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)'
type Fetched = Parameters<typeof machineOf>[0]['fetched']
const asked = (
  headers: Record<string, string>,
  { method = 'GET', ip = '198.51.100.7', fetched = 'link' as Fetched } = {},
) => machineOf({ method, ip, fetched, header: (name) => headers[name] })

describe('a request', () => {
  it.each([
    BROWSER,
    MACOS,
    'Microsoft Office/16.0 (Microsoft Outlook 16.0.5017; Pro)',
    'Thunderbird/128.3',
  ])('of %s is a person', (agent) => expect(asked({ 'user-agent': agent })).toBeNull())

  it.each([
    [
      'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      'mail_proxy',
    ],
    ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', 'mail_proxy'],
    ['Mozilla/5.0', 'mail_proxy'],
    ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 'link_preview'],
    ['facebookexternalhit/1.1', 'link_preview'],
    ['Barracuda Sentinel (EE)', 'link_scanner'],
    [`${BROWSER} some-bot/1.0`, 'link_scanner'],
    ['curl/8.5.0', 'no_browser'],
    ['python-requests/2.31', 'no_browser'],
    [BROWSER.replace('Chrome', 'HeadlessChrome'), 'no_browser'],
    ['', 'no_browser'],
  ])('of %s is a machine', (agent, reason) => {
    expect(asked({ 'user-agent': agent })).toBe(reason)
  })

  it('is a machine by its method, purpose or network', () => {
    const person = { 'user-agent': BROWSER }
    expect(asked(person, { method: 'HEAD' })).toBe('head')
    expect(asked({ ...person, 'sec-purpose': 'prefetch;prerender' })).toBe('prefetch')
    expect(asked(person, { ip: '66.249.84.1' })).toBe('mail_proxy')
    expect(asked(person, { ip: '40.94.1.1' })).toBeNull()
    expect(asked(person, { ip: '104.47.10.2' })).toBe('link_scanner')
    expect(asked(person, { ip: '2a01:111:f400::9' })).toBe('link_scanner')
  })
})

describe('the image proxy of a mail program', () => {
  const gmail =
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
  const yahoo = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'
  const picture = { fetched: 'picture' } as const

  it.each([
    ['Gmail', gmail, '66.249.84.1'],
    ['Gmail', gmail, '198.51.100.7'],
    ['Yahoo', yahoo, '98.137.24.1'],
    [
      'Yahoo',
      'Mozilla/5.0 (compatible; YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html)',
      '98.137.24.1',
    ],
  ])('of %s fetches pictures for a person who opens (%s)', (_, agent, ip) => {
    expect(asked({ 'user-agent': agent }, { ...picture, ip })).toBeNull()
  })

  it('is a machine when it follows a link, looks in advance, or asks for the head alone', () => {
    for (const agent of [gmail, yahoo]) {
      const headers = { 'user-agent': agent }
      expect(asked(headers)).toBe('mail_proxy')
      expect(asked({ ...headers, purpose: 'prefetch' }, picture)).toBe('prefetch')
      expect(asked(headers, { ...picture, method: 'HEAD' })).toBe('head')
    }
  })

  it('is not Gmail in advance of the person, Apple, or Google in another name', () => {
    const gmailInAdvance =
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0'
    expect(asked({ 'user-agent': gmailInAdvance }, picture)).toBe('prefetch')
    expect(asked({ 'user-agent': 'Mozilla/5.0' }, picture)).toBe('mail_proxy')
    expect(asked({ 'user-agent': BROWSER }, { ...picture, ip: '66.249.84.1' })).toBe('mail_proxy')
  })
})

describe('links fetched', () => {
  const at = (...ms: number[]) =>
    ms.map((time, i) => ({ at: new Date(1_000_000 + time), link: `https://x.test/${i}` }))
  const now = (ms: number) => new Date(1_000_000 + ms)
  it('three different links within a second are a burst, the same link three times is not', () => {
    expect(isBurst(at(0, 500, 999), now(999))).toBe(true)
    expect(isBurst(at(0, 500, 1000), now(1000))).toBe(false)
    expect(
      isBurst(
        at(0, 1, 2).map((fetch) => ({ ...fetch, link: 'a' })),
        now(2),
      ),
    ).toBe(false)
  })
  it('three within five seconds, at any time, show a scanner', () => {
    expect(showsScanner(at(0, 2000, 4999, 30_000))).toBe(true)
    expect(showsScanner(at(0, 2000, 5000, 30_000))).toBe(false)
    expect(showsScanner([])).toBe(false)
  })
})

describe("a client's address", () => {
  const read = createClientIp(['10.0.0.0/8', '127.0.0.1', 'fd00::/8'])
  it.each([
    ['198.51.100.7', '1.2.3.4', '198.51.100.7'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['::ffff:127.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['::ffff:198.51.100.7', '1.2.3.4', '198.51.100.7'],
    ['10.1.2.3', '9.9.9.9, 1.2.3.4, 10.0.0.1', '1.2.3.4'],
    ['10.1.2.3', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
    ['10.1.2.3', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['10.1.2.3', '9.9.9.9, evil, 10.0.0.8', '10.0.0.8'],
    ['10.1.2.3', '', '10.1.2.3'],
    ['10.1.2.3', '1.2.3.4:5678', '1.2.3.4'],
    ['fd00::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', undefined, 'fe80::1'],
    [undefined, '1.2.3.4', null],
  ])('of peer %s, forwarded for %s, is %s', (peer, forwarded, expected) => {
    expect(read(peer, forwarded)).toBe(expected)
  })
  it('is the peer if no proxy is trusted', () => {
    expect(createClientIp([])('127.0.0.1', '1.2.3.4')).toBe('127.0.0.1')
  })
})
