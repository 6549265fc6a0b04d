// The page that shows the interface description; everything on it comes from this server.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { createRoutes } from '../http/openapi.ts'

const require = createRequire(import.meta.url)

/** Scalar's page as one script; of its packages this one holds it ready built, and little else. */
const SCRIPT = join(
  dirname(require.resolve('@scalar/fastify-api-reference')),
  'js',
  'standalone.js',
)

/** The page's settings: nothing that talks to another host, and our own samples instead of generated ones. */
const START = `Scalar.createApiReference('#api', {
  url: '/v1/openapi.json',
  // Whatever name the page was opened by: a browser lets it ask no other one.
  servers: [{ url: location.origin }],
  layout: 'modern',
  theme: 'default',
  withDefaultFonts: false,
  telemetry: false,
  hiddenClients: true,
  hideClientButton: true,
  showDeveloperTools: 'never',
  mcp: { disabled: true },
  agent: { disabled: true },
  defaultOpenFirstTag: true,
  orderSchemaPropertiesBy: 'preserve',
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'bearer' },
})
`

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dripline API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="api"></div>
<noscript>This page needs JavaScript. The same description for machines: <a href="/v1/openapi.json">/v1/openapi.json</a></noscript>
<script src="/docs/scalar.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** The script puts its styles into the page, hence the inline ones; requests go to this service alone. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'"

const JAVASCRIPT = 'text/javascript; charset=utf-8'

const headers = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'public, max-age=3600',
}

/** The page, what it loads, and `/`, which leads to it. */
export function docsRoutes() {
  const app = createRoutes()
  // Read and packed when somebody first asks: it is 3.5 MB, 1 MB packed. A failure is not kept.
  let packed: Promise<Uint8Array<ArrayBuffer>> | undefined
  const packScript = async () => {
    try {
      return new Uint8Array(await promisify(gzip)(await readFile(SCRIPT)))
    } catch (err) {
      packed = undefined
      throw err
    }
  }

  app.get('/', (c) => c.redirect('/docs'))
  app.get('/docs', (c) => c.html(PAGE, 200, headers))
  app.get('/docs/start.js', (c) => c.body(START, 200, { ...headers, 'Content-Type': JAVASCRIPT }))
  app.get('/docs/scalar.js', async (c) => {
    packed ??= packScript()
    return c.body(await packed, 200, {
      ...headers,
      'Content-Type': JAVASCRIPT,
      'Content-Encoding': 'gzip',
      Vary: 'Accept-Encoding',
    })
  })

  return app
}
