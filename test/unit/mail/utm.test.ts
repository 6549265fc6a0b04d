// utm parameters in the links of an html text: where they stand, and what stays as it is.
import { expect, test } from 'vitest'
import { withUtm } from '../../../mail/content/utm.ts'
import { planTracking } from '../../../mail/tracking/rewrite.ts'

const values = { source: 'dripline', medium: 'email', campaign: 'spring & sun', term: '' }
const added = 'utm_source=dripline&amp;utm_medium=email&amp;utm_campaign=spring%20%26%20sun'
const isOwnUrl = (url: string) => url.startsWith('https://mail.test/u/')
const tag = (html: string) => withUtm(html, values, isOwnUrl)
const link = (href: string) => `<p><a class="b" href="${href}">x</a></p>`

test.each([
  ['a bare host', 'https://a.test', `https://a.test?${added}`],
  ['a path', 'https://a.test/p/', `https://a.test/p/?${added}`],
  ['a query', 'https://a.test/?a=1&amp;b=%20', `https://a.test/?a=1&amp;b=%20&amp;${added}`],
  ['an empty query', 'https://a.test/?', `https://a.test/?${added}`],
  ['a query that ends open', 'https://a.test/?a&amp;', `https://a.test/?a&amp;${added}`],
  ['a fragment', 'https://a.test/p#top?x', `https://a.test/p?${added}#top?x`],
  ['query and fragment', 'http://a.test/?a=1#b', `http://a.test/?a=1&amp;${added}#b`],
  [
    'a parameter of its own',
    'https://a.test/?UTM_source=me',
    'https://a.test/?UTM_source=me&amp;utm_medium=email&amp;utm_campaign=spring%20%26%20sun',
  ],
  ['the link to unsubscribe', 'https://mail.test/u/abc', 'https://mail.test/u/abc'],
  ['mail', 'mailto:a@b.test', 'mailto:a@b.test'],
  ['a telephone', 'tel:+1', 'tel:+1'],
  ['an anchor', '#top', '#top'],
  ['a relative link', '/p', '/p'],
  ['Liquid that was not rendered', 'https://a.test/{{ x }}', 'https://a.test/{{ x }}'],
])('%s', (_name, href, expected) => {
  expect(tag(link(href))).toBe(link(expected))
})

test('links that are not to be tracked, images, scripts and comments stay as they are', () => {
  const html =
    '<a data-dripline-track="false" href="https://a.test">x</a><img src="https://a.test/i.png">' +
    '<script>"<a href=https://a.test>"</script><!-- <a href="https://a.test"> -->'
  expect(tag(html)).toBe(html)
})

test('a browser reads the link as it was, with the parameters, however it was quoted', () => {
  const urlsOf = (html: string) =>
    planTracking(html, { opens: false, clicks: true, isOwnUrl: () => false }).urls
  const given = ['https://a.test/?q="x"', "https://a.test/?q='`<>", 'https://a.test/?a=1&b=2#c']
  for (const url of given) {
    const escaped = url.replace(/[\s"'`=<>&]/g, (char) => `&#${char.charCodeAt(0)};`)
    for (const href of [`"${escaped}"`, `'${escaped}'`, escaped]) {
      const [read = ''] = urlsOf(tag(`<a href=${href}>x</a>`))
      const [path = '', fragment = ''] = url.split('#')
      const tail = fragment && `#${fragment}`
      expect(read).toBe(`${path}&${added.replaceAll('&amp;', '&')}${tail}`)
    }
  }
})

test('no values change nothing', () => {
  const html = link('https://a.test/?a=1&b')
  expect(withUtm(html, {}, isOwnUrl)).toBe(html)
  expect(withUtm(html, { source: '' }, isOwnUrl)).toBe(html)
})
