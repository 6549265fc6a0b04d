// The pages of an unsubscribe link: small and without scripts.

const STYLE = `
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f4f5f7;
    font: 16px/1.5 system-ui, sans-serif; color: #1f2430 }
  main { max-width: 26rem; margin: 1rem; padding: 2rem; background: #fff; border-radius: 12px;
    box-shadow: 0 1px 3px rgb(0 0 0 / 12%); text-align: center }
  h1 { margin: 0 0 .5rem; font-size: 1.4rem }
  p { margin: 0 0 1.25rem; color: #4a5162 }
  button { font: inherit; padding: .6rem 1.2rem; border: 1px solid #c6cad3; border-radius: 8px;
    background: #fff; color: inherit; cursor: pointer }
  button:focus-visible { outline: 3px solid #5b8def; outline-offset: 2px }
`

/** Headers of every such page: no caching, no referrer, no frames. */
export const pageHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
}

export type UnsubscribePage = 'left' | 'ask' | 'back' | 'copy' | 'unknown'

const pages: Record<UnsubscribePage, { title: string; text: string; action?: [string, string] }> = {
  left: {
    title: 'You are unsubscribed',
    text: 'You will get no more of these mails.',
    action: ['/undo', 'That was a mistake: subscribe me again'],
  },
  ask: {
    title: 'Unsubscribe?',
    text: 'You will get no more of these mails.',
    action: ['', 'Unsubscribe'],
  },
  back: {
    title: 'You are subscribed again',
    text: 'Changed your mind? You can leave at any time.',
    action: ['', 'Unsubscribe'],
  },
  copy: {
    title: 'This mail was a copy',
    text: 'It went to somebody else, and you got a copy for your team. The link in it unsubscribes nobody.',
  },
  unknown: {
    title: 'This link does not work',
    text: 'It may have been cut off on its way. Please use the link in the latest mail.',
  },
}

/** Makes a page. @param token of the link, already checked, base64url */
export function unsubscribePage(page: UnsubscribePage, token: string): string {
  const { title, text, action } = pages[page]
  const form = action
    ? `<form method="post" action="/u/${token}${action[0]}"><button>${action[1]}</button></form>`
    : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body><main><h1>${title}</h1><p>${text}</p>${form}</main></body>
</html>
`
}
