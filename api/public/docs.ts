// The page that shows the interface description; everything on it comes from this server.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createRoutes } from '../http/openapi.ts'

const require = createRequire(import.meta.url)
const folder = dirname(require.resolve('swagger-ui-dist/package.json'))

const types: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dripline API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  validatorUrl: null,
})
`

const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'public, max-age=3600',
}

export function docsRoutes() {
  const app = createRoutes()
  const files = new Map<string, Promise<string>>()

  app.get('/docs', (c) => c.html(PAGE, 200, headers))
  app.get('/docs/start.js', (c) =>
    c.body(START, 200, { ...headers, 'Content-Type': 'text/javascript; charset=utf-8' }),
  )
  for (const [name, type] of Object.entries(types)) {
    app.get(`/docs/${name}`, async (c) => {
      const text = files.get(name) ?? readFile(join(folder, name), 'utf8')
      files.set(name, text)
      return c.body(await text, 200, { ...headers, 'Content-Type': type })
    })
  }

  return app
}
