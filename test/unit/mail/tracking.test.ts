// Rewriting html for tracking: which links are replaced, and that nothing else changes.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyTracking, planTracking } from '../../../mail/tracking/rewrite.ts'
import { limits } from '../../../rules/limits.ts'
import { expectLinear } from '../../setup/growth.ts'

const LINKS_MAX = limits.trackedLinksPerEmailMax
const URL_CHARS_MAX = limits.trackedUrlCharsMax

const OWN = 'https://api.mail.test/u/'
const isOwnUrl = (url: string) => url.startsWith(OWN)
const plan = (html: string, on = { opens: false, clicks: true }) =>
  planTracking(html, { ...on, isOwnUrl })
const to = { openUrl: 'https://t.test/t/o/X', clickUrl: (i: number) => `https://t.test/t/c/${i}` }
const rewrite = (html: string, on?: { opens: boolean; clicks: boolean }) =>
  applyTracking(plan(html, on), to)
const PIXEL = /<img src="https:\/\/t\.test\/t\/o\/X"[^>]*>/

describe('links', () => {
  it.each([
    ['<a href="https://x.test/">', 'https://x.test/', '<a href="https://t.test/t/c/0">'],
    ["<A HREF='HTTP://X.test/a'>", 'HTTP://X.test/a', "<A HREF='https://t.test/t/c/0'>"],
    ['<a href=https://x.test/b/ id=c>', 'https://x.test/b/', '<a href=https://t.test/t/c/0 id=c>'],
    ['<a href=https://x.test/b>', 'https://x.test/b', '<a href=https://t.test/t/c/0>'],
    [
      '<a\n href = "https://x.test/"\n>',
      'https://x.test/',
      '<a\n href = "https://t.test/t/c/0"\n>',
    ],
    ['<area href="https://x.test/"/>', 'https://x.test/', '<area href="https://t.test/t/c/0"/>'],
    [
      '<a href="https://x.test/?a=1&amp;b=2">',
      'https://x.test/?a=1&b=2',
      '<a href="https://t.test/t/c/0">',
    ],
    [
      '<a href="&#104;ttps://x.test/&#x3c;">',
      'https://x.test/<',
      '<a href="https://t.test/t/c/0">',
    ],
    // In an attribute a name without a semicolon is not an entity if a letter or an equals sign follows.
    [
      '<a href="https://x.test/?a=1&copy=2">',
      'https://x.test/?a=1&copy=2',
      '<a href="https://t.test/t/c/0">',
    ],
    ['<a href="  https://x.test/a\n\tb ">', 'https://x.test/ab', '<a href="https://t.test/t/c/0">'],
    [
      '<a href="https://x.test/ü?q=😀#§">',
      'https://x.test/ü?q=😀#§',
      '<a href="https://t.test/t/c/0">',
    ],
    ["<a href='https://x.test/\"'>", 'https://x.test/"', "<a href='https://t.test/t/c/0'>"],
    [
      '<a title=">" href="https://x.test/">',
      'https://x.test/',
      '<a title=">" href="https://t.test/t/c/0">',
    ],
    [
      '<a href="https://x.test/1" href="https://y.test/">',
      'https://x.test/1',
      '<a href="https://t.test/t/c/0" href="https://y.test/">',
    ],
  ])('%s', (html, url, written) => {
    expect(plan(html).urls).toEqual([url])
    expect(rewrite(html)).toBe(written)
  })

  it.each([
    '<a href="mailto:a@x.test">',
    '<a href="tel:+1">',
    '<a href="#top">',
    '<a href="cid:part">',
    '<a href="/path">',
    '<a href="//x.test/">',
    '<a href="data:text/html,x">',
    '<a href="javascript:location=\'https://x.test/\'">',
    '<a href="https://">',
    '<a href="https://a b.test/">',
    '<a href="https://x.test/{{ name }}">',
    '<a href="{{ url }}">',
    `<a href="${OWN}AAAAAAAAAAAAAAAAAAAAAA">`,
    `<a href="${OWN.replace('https', '&#x68;ttps')}AA">`,
    '<a href>',
    '<a href="">',
    '<a href="" href="https://x.test/">',
    '<a data-href="https://x.test/">',
    '<a href="https://x.test/" data-dripline-track="false">',
    '<a DATA-DRIPLINE-TRACK=False href="https://x.test/">',
    '<link href="https://x.test/"><base href="https://x.test/"><img src="https://x.test/">',
    '<abbr href="https://x.test/">',
    '</a href="https://x.test/">',
    '<!-- <a href="https://x.test/"> -->',
    '<!--[if mso]><a href="https://x.test/">x</a><![endif]-->',
    '<script>"<a href=\'https://x.test/\'>"</script>',
    '<style><a href="https://x.test/"></style>',
    '<textarea><a href="https://x.test/"></textarea>',
    '<a href="https://x.test/',
    '<a href="https://x.test/"',
    `<a href="https://x.test/${'a'.repeat(URL_CHARS_MAX)}">`,
  ])('%s stays', (html) => {
    expect(plan(html).urls).toEqual([])
    expect(rewrite(html)).toBe(html)
  })

  it('outside of conditional comments are replaced', () => {
    const html = '<!--[if !mso]><!--><a href="https://x.test/">x</a><!--<![endif]-->'
    expect(rewrite(html)).toBe(html.replace('https://x.test/', 'https://t.test/t/c/0'))
  })

  it('to the same target share an index', () => {
    const html =
      '<a href="https://x.test/?a&amp;b"><a href="https://y.test/"><a href=https://x.test/?a&b>'
    expect(plan(html).urls).toEqual(['https://x.test/?a&b', 'https://y.test/'])
    expect(rewrite(html).match(/t\/c\/\d/g)).toEqual(['t/c/0', 't/c/1', 't/c/0'])
  })

  it(`after ${LINKS_MAX} are not replaced`, () => {
    const links = Array.from({ length: LINKS_MAX + 2 }, (_, i) => `<a href="https://x.test/${i}">`)
    const { urls } = plan(links.join(''))
    expect([urls.length, urls.at(-1)]).toEqual([LINKS_MAX, `https://x.test/${LINKS_MAX - 1}`])
    expect(rewrite(links.join('')).endsWith(links.slice(LINKS_MAX).join(''))).toBe(true)
  })

  it('are found in a time that grows with the html alone, also with long rows of spaces inside', () =>
    expectLinear((share) => plan(`<a href="https://x.test/${' '.repeat(100_000 * share)}x">`)))

  it('lose the spaces and control characters around them', () => {
    expect(plan('<a href=" \n\u0001https://x.test/a b\t \u0000 ">').urls).toEqual([
      'https://x.test/a b',
    ])
    expect(plan('<a href="  ">').urls).toEqual([])
  })

  it('are safe when the inserted address has special characters', () => {
    const nasty = { openUrl: '"><script>', clickUrl: () => `"' ><script>&` }
    for (const quote of ['"', "'", '']) {
      const html = `<a href=${quote}https://x.test/${quote}>`
      const written = applyTracking(plan(html, { opens: true, clicks: true }), nasty)
      expect(written).not.toContain('<script')
      expect(written.startsWith(`<a href=${quote}&#34;&#39;&#32;`)).toBe(true)
    }
  })
})

describe('the pixel', () => {
  const opens = { opens: true, clicks: true }
  it.each([
    ['<body>x</body></html>', '<body>x|</body></html>'],
    ['<body>x</BODY ></html>', '<body>x|</BODY ></html>'],
    ['a</body>b</body>c', 'a</body>b|</body>c'],
    ['<!-- </body> --><p>', '<!-- </body> --><p>|'],
    ['x</body><!-- </body> -->', 'x|</body><!-- </body> -->'],
    ['x', 'x|'],
    ['', '|'],
    ['<p></tbody></p>', '<p></tbody></p>|'],
    ['x</body><a href="https://x.test/">', 'x|</body><a href="https://t.test/t/c/0">'],
    ['<a href="https://x.test/"></body>', '<a href="https://t.test/t/c/0">|</body>'],
  ])('%s', (html, expected) => {
    expect(rewrite(html, opens).replace(PIXEL, '|')).toBe(expected)
  })

  it('is not added, and no link is replaced, if tracking is off', () => {
    const html = '<body><a href="https://x.test/">x</a></body>'
    expect(rewrite(html, { opens: false, clicks: false })).toBe(html)
    expect(rewrite(html, { opens: true, clicks: false }).replace(PIXEL, '')).toBe(html)
  })
})

const bits = fc.constantFrom(
  '<a href="https://x.test/?a=1&amp;b=2">',
  "<A hReF = 'http://y.test/ü'",
  '<a href=https://z.test/>',
  '<area href="https://x.test/" data-dripline-track="false">',
  '<!--[if mso]>',
  '<![endif]-->',
  '<!--',
  '-->',
  '<script>',
  '</script>',
  '</body>',
  '<p title="',
  '">',
  "'",
  '&amp;',
  '&#0;',
  '\0',
  '<![CDATA[',
  ']]>',
  '😀',
  '<',
  '>',
  ' ',
  '=',
  'text',
)

describe('any html', () => {
  it('is the same again after the inserted addresses are removed', () => {
    const anything = fc.array(fc.oneof(bits, fc.string()), { maxLength: 40 })
    fc.assert(
      fc.property(anything, (parts) => {
        const html = parts.join('')
        const found = plan(html, { opens: true, clicks: true })
        // Each text piece is in the html, in order; between two pieces is the value of a link.
        let at = 0
        for (const [index, piece] of found.pieces.entries()) {
          if (typeof piece === 'string') {
            expect(html.slice(at, at + piece.length)).toBe(piece)
            at += piece.length
          } else if ('link' in piece) {
            const next = found.pieces.slice(index + 1).find((one) => typeof one === 'string')
            const end = next === undefined ? html.length : html.indexOf(next, at + 1)
            expect(end).toBeGreaterThan(at)
            expect(found.urls[piece.link]).toMatch(/^https?:/i)
            at = end
          }
        }
        expect(at).toBe(html.length)
        expect(
          found.pieces.filter((one) => typeof one === 'object' && 'pixel' in one),
        ).toHaveLength(1)
      }),
      { numRuns: 2000 },
    )
  })

  it('is read in one pass without a deep stack: hostile html of 2 MB and ordinary html of 40 MB', () => {
    for (const part of ['<a href="https://x.test/', '<a href=', '<', '<!--', '&#', "<a b='"]) {
      const html = part.repeat(Math.floor((2 * 1024 * 1024) / part.length))
      expect(rewrite(html)).toBe(html)
    }
    const html = '<a href="https://x.test/">x</a><div>'.repeat(Math.floor((40 * 1024 * 1024) / 36))
    expect(plan(html, { opens: true, clicks: true }).urls).toEqual(['https://x.test/'])
  }, 60_000)
})
