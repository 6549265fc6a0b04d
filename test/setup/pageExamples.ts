// The whole workflows of docs/workflows.md, with the runs that the page shows of each.
import { type Fence, fencesOf } from './docs.ts'

export const WORKFLOWS_PAGE = 'docs/workflows.md'

export interface PageNode {
  id: string
  type: string
  data: Record<string, unknown>
}

export interface PageWorkflow {
  /** The heading that it stands under. */
  title: string
  /** `docs/workflows.md:12` */
  place: string
  /** The body of `POST /v1/workflows`; `<id of NAME>` stands for the id of another workflow of the page, `<id of the audience NAME>` for that of an audience. */
  body: { name: string; design: { nodes: PageNode[]; settings?: object } }
  runs: PageRun[]
}

export interface PageRun {
  place: string
  /** What the reader posts, in order: the first starts it, the others come while it waits for them. */
  requests: { kind: 'event' | 'start'; body: Record<string, unknown> }[]
  steps: PageStep[]
  status: string
  error: string | null
  subjects: string[]
}

interface PageStep {
  nodeId: string
  /** null: nothing follows the node. */
  handle: string | null
  /** '' where the page shows none. */
  why: string
  /** What the contact does while the execution waits at this node. */
  meanwhile: { opens: string } | null
}

/** All of them, in the page's order. */
export function pageWorkflows(): PageWorkflow[] {
  const workflows: PageWorkflow[] = []
  let requests: PageRun['requests'] = []
  for (const fence of fencesOf([WORKFLOWS_PAGE])) {
    const place = `${fence.page}:${fence.line}`
    const title = fence.headings.at(-1) ?? ''
    for (const body of bodiesIn(fence)) {
      // A design without a name is only checked, not kept.
      if ('design' in body && !('name' in body)) continue
      if ('design' in body) {
        const workflow = { title, place, body: body as PageWorkflow['body'], runs: [] }
        workflows.push(workflow)
        requests = []
      } else requests.push({ kind: 'event_name' in body ? 'event' : 'start', body })
    }
    if (fence.info !== 'run') continue
    const workflow = workflows.at(-1)
    if (!workflow) throw new Error(`${place}: a run before any workflow`)
    workflow.runs.push({ place, requests, ...parseRun(fence.text, place) })
    requests = []
  }
  return workflows
}

/** The request bodies of a fence: its own, or those that its commands send. */
function bodiesIn({ language, info, text }: Fence): Record<string, unknown>[] {
  if (language === 'json' && ['workflow', 'event', 'start'].includes(info)) {
    return [JSON.parse(text)]
  }
  if (language !== 'sh') return []
  const heredocs = [...text.matchAll(/<<'JSON'.*\n([\s\S]*?)\nJSON$/gm)]
  const inline = [...text.matchAll(/-d '(\{"event_name".*?\})'/g)]
  return [...heredocs, ...inline].map(([, json]) => JSON.parse(json ?? ''))
}

function parseRun(text: string, place: string): Omit<PageRun, 'place' | 'requests'> {
  const run: Omit<PageRun, 'place' | 'requests'> = {
    steps: [],
    status: '',
    error: null,
    subjects: [],
  }
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const ending = /^(status|error|mail): (.+)$/.exec(line)
    const opens = /^\((?:.+) opens the mail of (\S+)\)$/.exec(line)
    const last = run.steps.at(-1)
    if (ending?.[1] === 'status') run.status = ending[2] ?? ''
    else if (ending?.[1] === 'error') run.error = ending[2] ?? ''
    else if (ending) run.subjects.push(ending[2] ?? '')
    else if (opens?.[1] && last) last.meanwhile = { opens: opens[1] }
    else run.steps.push(parseStep(line, place))
  }
  return run
}

function parseStep(line: string, place: string): PageStep {
  const [, nodeId, handle, why = ''] = /^(\S+) +(\S+)(?: {2,}(.+))?$/.exec(line) ?? []
  if (!nodeId || !handle) throw new Error(`${place}: no line of a run: ${line}`)
  return { nodeId, handle: handle === '-' ? null : handle, why, meanwhile: null }
}
