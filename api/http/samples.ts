// Requests as a caller would type them, for the interface description: curl and TypeScript.

/** A request to show. */
export interface SampleRequest {
  /** In capitals. */
  method: string
  /** The whole address with its query. */
  url: string
  /** Absent: the request has none. */
  body?: unknown
  /** Whether the answer is a file of text, and no JSON. */
  isFile?: boolean
}

/** In the form of OpenAPI's `x-codeSamples`, which documentation pages read. */
export interface Sample {
  lang: string
  label: string
  source: string
}

/** The key comes from the environment: what is pasted into a chat or a log holds no secret. */
const KEY = 'DRIPLINE_API_KEY'

export const samplesOf = (request: SampleRequest): Sample[] => [
  { lang: 'shell', label: 'curl', source: curl(request) },
  { lang: 'typescript', label: 'TypeScript', source: typescript(request) },
]

function curl({ method, url, body }: SampleRequest): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    `  -H "Authorization: Bearer $${KEY}"`,
  ]
  if (body !== undefined) {
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(pretty(body))}`)
  }
  return lines.join(' \\\n')
}

/** In single quotes of a POSIX shell, which leave everything but themselves as it is. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

const pretty = (value: unknown) => JSON.stringify(value, null, 2)

function typescript({ method, url, body, isFile = false }: SampleRequest): string {
  const headers = [
    `    Authorization: \`Bearer \${process.env.${KEY}}\`,`,
    ...(body === undefined ? [] : ["    'Content-Type': 'application/json',"]),
  ]
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    ...headers,
    '  },',
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${pretty(body).replaceAll('\n', '\n  ')}),`]),
    '})',
    'if (!response.ok) throw new Error(await response.text())',
    // These two answer without a body.
    ...(method === 'DELETE' || method === 'PUT'
      ? []
      : [isFile ? 'const file = await response.text()' : 'const answer = await response.json()']),
  ].join('\n')
}
