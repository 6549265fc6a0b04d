// Mounts every resource, with the rules for paths that are not an operation.
import type { OpenAPIHono } from '@hono/zod-openapi'
import { apiKeyRoutes } from './api-keys/routes.ts'
import { audienceContactRoutes, missingAudienceContactRoutes } from './audiences/contactRoutes.ts'
import { audienceRoutes } from './audiences/routes.ts'
import { automationContactRoutes, missingContactRoutes } from './contacts/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { emailAttemptRoutes } from './emails/attemptRoutes.ts'
import { emailBatchRoutes } from './emails/batchRoutes.ts'
import { emailRoutes } from './emails/routes.ts'
import { emailScheduleRoutes } from './emails/scheduleRoutes.ts'
import { automationEventRoutes } from './events/routes.ts'
import { executionRoutes } from './executions/routes.ts'
import type { ApiDeps, ApiEnv } from './http/env.ts'
import { type MountRules, mountMark } from './http/operation.ts'
import { jobRoutes } from './jobs/routes.ts'
import { avatarRoutes } from './public/avatars.ts'
import { docsRoutes } from './public/docs.ts'
import { healthRoutes } from './public/health.ts'
import { trackingRoutes } from './public/tracking.ts'
import { unsubscribeRoutes } from './public/unsubscribe.ts'
import { secretRoutes } from './secrets/routes.ts'
import { statsRoutes } from './stats/routes.ts'
import { missingSuppressionRoutes, suppressionRoutes } from './suppressions/routes.ts'
import { templateRoutes } from './templates/routes.ts'
import { templateTestRoutes } from './templates/testRoutes.ts'
import { webhookDeliveryRoutes } from './webhooks/deliveryRoutes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { workflowExecutionRoutes } from './workflows/executionRoutes.ts'
import { workflowRoutes } from './workflows/routes.ts'
import { workflowVersionRoutes } from './workflows/versionRoutes.ts'

/** Mounts the routes that need no key. */
export function mountPublic(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  app.route('/', healthRoutes(deps))
  app.route('/', docsRoutes())
  app.route('/', avatarRoutes(deps))
  app.route('/', unsubscribeRoutes(deps))
  app.route('/', trackingRoutes(deps))
}

const plain: MountRules = { permission: { read: 'read', write: 'manage' }, errors: 'message' }
const ofAutomation: MountRules = { ...plain, errors: 'error' }

/**
 * A path and its resources. `rules` hold for everything below it that is not an operation; an operation has its
 * own rules.
 */
interface Mount {
  path: string
  rules: MountRules
  resources: ((deps: ApiDeps) => OpenAPIHono<ApiEnv>)[]
}

/** Outer mounts come before inner ones. */
const mounts: Mount[] = [
  {
    path: '/v1/api-keys',
    rules: { permission: { read: 'read_keys', write: 'manage' }, errors: 'message' },
    resources: [apiKeyRoutes],
  },
  {
    path: '/v1/emails',
    rules: { permission: { read: 'read_status', write: 'send' }, errors: 'message' },
    resources: [emailRoutes, emailBatchRoutes, emailAttemptRoutes, emailScheduleRoutes],
  },
  { path: '/v1/templates', rules: plain, resources: [templateRoutes, templateTestRoutes] },
  {
    path: '/v1/audiences',
    rules: plain,
    resources: [audienceRoutes, missingAudienceContactRoutes, audienceContactRoutes],
  },
  { path: '/v1/domains', rules: plain, resources: [domainRoutes] },
  { path: '/v1/suppressions', rules: plain, resources: [suppressionRoutes] },
  { path: '/v1/stats', rules: plain, resources: [statsRoutes] },
  { path: '/v1/jobs', rules: plain, resources: [jobRoutes] },
  { path: '/v1/webhooks', rules: plain, resources: [webhookRoutes, webhookDeliveryRoutes] },
  {
    path: '/v1/workflows',
    rules: ofAutomation,
    resources: [workflowRoutes, workflowVersionRoutes, workflowExecutionRoutes],
  },
  { path: '/v1/executions', rules: ofAutomation, resources: [executionRoutes] },
  { path: '/v1/automation', rules: ofAutomation, resources: [missingContactRoutes] },
  { path: '/v1/automation/events', rules: ofAutomation, resources: [automationEventRoutes] },
  { path: '/v1/automation/secrets', rules: ofAutomation, resources: [secretRoutes] },
  { path: '/v1/automation/contacts', rules: ofAutomation, resources: [automationContactRoutes] },
]

export function mountV1(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  // The rules of paths below it are those of `/v1/suppressions`.
  app.route('/v1', missingSuppressionRoutes())
  for (const { path, rules, resources } of mounts) {
    app.use(`${path}/*`, mountMark(rules))
    for (const resource of resources) app.route(path, resource(deps))
  }
}
