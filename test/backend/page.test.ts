import { assert, beforeEach, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Agent, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { alone } from "./assistant.ts"
import { Chromium, isNeeded, missing, openPage } from "./browser.ts"
import { colleagueOf, isEnd, serve, tokenOf } from "./serving.ts"
import { findFaint, findSmall, findWide } from "./sight.ts"
import { control, decide, intercept, log, makePacing, modes, say, saysThat, status, visit, words } from "./visit.ts"

const refund = "I want my money back for the cracked floor lamp, order 1047"

layer(Chromium.layer, { excludeTestServices: true })("the page", (it) => {
  if (missing !== undefined && !isNeeded) beforeEach(({ skip }) => skip(missing))

  it.effect("asks for the token, tells a wrong one, and keeps a right one for the tab", () =>
    Effect.gen(function*() {
      const { url } = yield* serve()
      const page = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(url)
        const field = page.getByLabel("Access token")
        await page.keyboard.press("Enter")
        await page.getByRole("alert").filter({ hasText: "A token is needed" }).waitFor()
        await field.fill("nobody-knows-this-token")
        await page.keyboard.press("Enter")
        await page.getByRole("alert").filter({ hasText: "This token isn't known here" }).waitFor()
        assert.strictEqual(await field.getAttribute("aria-invalid"), "true")
        await field.fill(tokenOf("ada"))
        await page.keyboard.press("Enter")
        await page.getByText("No conversations yet").waitFor()
        await page.reload()
        await page.getByText("No conversations yet").waitFor()
        await page.getByRole("button", { name: "Leave" }).click()
        await field.waitFor()
        await page.reload()
        await field.waitFor()
        assert.strictEqual(await page.evaluate(() => sessionStorage.length), 0)
        // A link may bring the token along.
        await page.goto(`${url}/#token=${tokenOf("ada")}`)
        await page.reload()
        await page.getByText("No conversations yet").waitFor()
        assert.strictEqual(new URL(page.url()).hash, "#/")
      })
    }))

  it.effect("talks to the desk: who is in control, what is called, and what waits for a colleague, who decides elsewhere", () =>
    Effect.gen(function*() {
      const { page, service } = yield* visit()
      const approval = page.getByRole("group", { name: "Approval: Asks to open a claim for a refund of €249.00" })
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: refund }).click()
        await approval.waitFor()
        await control(page).getByText("Refunds", { exact: true }).waitFor()
        await modes(page).getByText("A colleague checks this refund").waitFor()
        await status(page).getByText("Waits for a colleague's approval").waitFor()
        await approval.getByRole("heading", { name: "Waits for a colleague's approval" }).waitFor()
        // A customer has nothing to press.
        assert.strictEqual(await approval.getByRole("button").count(), 0)
        assert.strictEqual(await approval.getByRole("textbox").count(), 0)
        await log(page).getByText("Refunds takes over from Triage").waitFor()
        await log(page).getByText("Looked up order 1047").click()
        await log(page).getByText("Priya Nair").waitFor()
        assert.deepStrictEqual(await page.getByRole("heading", { level: 1 }).allInnerTexts(), [refund])
      })
      yield* decide(service, "approve")
      yield* Effect.promise(async () => {
        await log(page).getByText("Opened a claim for a refund of €249.00").waitFor()
        await log(page).getByText("Your claim is C-1047-1").waitFor()
        await modes(page).waitFor({ state: "hidden" })
        // No words of the house are left to a customer.
        assert.notMatch(await page.locator("#talk").innerText(), /\bmode\b|supervised/i)
        assert.strictEqual(await approval.count(), 0)
        await page.getByRole("navigation").getByRole("link", { name: refund }).waitFor()
        const before = await log(page).innerText()
        await page.reload()
        await log(page).getByText("Your claim is C-1047-1").waitFor()
        assert.strictEqual(
          (await log(page).innerText()).replace(/\s+/g, " "),
          before.replace(/\{[^]*?\n\}\n*/g, "").replace(/find_order\n+/, "").replace(/\s+/g, " ")
        )
      })
    }))

  it.effect("lets a colleague look on in a conversation and deny with a reason, which the desk answers to", () =>
    Effect.gen(function*() {
      const { page, service } = yield* visit({ role: "colleague" })
      yield* service.begin(refund)
      yield* Effect.promise(async () => {
        await page.getByRole("navigation").getByRole("link", { name: refund }).click()
        await status(page).getByText("Waits for your approval").waitFor()
        assert.strictEqual(await words(page).count(), 1)
        for (const element of [words(page), page.locator("#send"), page.locator("#remove"), page.locator("#new")]) {
          assert.isFalse(await element.isVisible())
        }
        assert.deepStrictEqual(await page.getByRole("heading", { level: 1 }).allInnerTexts(), [refund])
        await log(page).getByLabel("Reason, if you deny it").fill("too much <b>money</b>")
        await log(page).getByRole("button", { name: "Deny" }).click()
        await log(page).getByText("Wasn't allowed to open a claim").waitFor()
        await log(page).getByText("that was not approved: too much <b>money</b>").waitFor()
        await modes(page).waitFor({ state: "hidden" })
      })
    }))

  it.effect("lists for a colleague what awaits approval in all conversations, live, and decides there once", () =>
    Effect.gen(function*() {
      const { page, service } = yield* visit({ role: "colleague" })
      const queue = page.getByRole("region", { name: "Awaiting approval" })
      const cards = queue.getByRole("group")
      const says = (text: string | RegExp) => queue.getByRole("status").filter({ hasText: text }).waitFor()
      yield* Effect.promise(() => says("Nothing awaits approval"))
      yield* service.begin(refund)
      yield* Effect.promise(async () => {
        await says("1 request awaits your approval.")
        await cards.getByRole("link", { name: refund }).waitFor()
        await cards.getByLabel("Reason, if you deny it").fill("Half a rea")
      })
      yield* service.begin("The floor lamp of order 1047 is cracked")
      yield* Effect.promise(async () => {
        await says("2 requests await your approval.")
        assert.strictEqual(await page.title(), "(2) Halden · Support desk")
        // Who writes isn't disturbed by what appears.
        await page.keyboard.type("son")
        assert.strictEqual(await cards.first().getByRole("textbox").inputValue(), "Half a reason")
        // What fails stays, with what was written.
        await intercept(page, "**/approvals/*", (route) => route.abort())
        await cards.first().getByRole("button", { name: "Deny" }).click()
        await page.getByRole("alert").filter({ hasText: "The service can't be reached" }).waitFor()
        assert.strictEqual(await cards.first().getByRole("textbox").inputValue(), "Half a reason")
        await cards.first().getByRole("button", { name: "Deny" }).focus()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Enter")
        await says(/^Denied: open a claim for a refund of €249\.00, order 1047\. 1 request awaits your approval\.$/)
        // The next card has the focus, and none of its buttons.
        assert.isTrue(await cards.first().evaluate((card) => card === document.activeElement))
      })
      // Somebody else decides about the one that is looked at.
      yield* decide(service, "approve")
      yield* Effect.promise(async () => {
        await says(/^What you looked at was decided by somebody else\. Nothing awaits approval/)
        assert.strictEqual(
          await page.evaluate(() => document.activeElement?.textContent),
          "Awaiting approval"
        )
        assert.strictEqual(await page.title(), "Halden · Support desk")
      })
    }))

  it.effect("tells a colleague what is decided or gone already, and a customer whose it is to decide", () =>
    Effect.gen(function*() {
      const { page, service } = yield* visit({ role: "colleague" })
      const { conversations, params } = yield* service.begin(refund)
      const cards = page.getByRole("region", { name: "Awaiting approval" }).getByRole("group")
      const notice = page.locator("#notice")
      let goOn = (): void => undefined
      const isHeld = new Promise<void>((resolve) => (goOn = resolve))
      yield* Effect.promise(async () => {
        await cards.waitFor()
        // The list that tells of it comes late.
        await intercept(page, "**/approvals/*", async (route) => {
          await isHeld
          await route.continue()
        })
        await cards.getByRole("button", { name: "Approve" }).click()
      })
      const { cursor } = yield* conversations.read({ params })
      yield* decide(service, "deny")
      yield* service.until(params.id, isEnd, cursor)
      goOn()
      yield* Effect.promise(async () => {
        await notice.filter({ hasText: "That doesn't wait any more" }).waitFor()
        assert.strictEqual(await cards.count(), 0)
        // A link for a customer makes one of whoever follows it, in the same tab.
        await page.evaluate((token) => void (location.hash = `#token=${token}`), tokenOf("ada"))
        await page.getByRole("heading", { name: "What is it about?" }).waitFor()
        assert.isFalse(await page.getByRole("link", { name: "Awaiting approval" }).isVisible())
        const refused = await page.evaluate(async ([path, token]) => {
          const response = await fetch(path!, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: JSON.stringify({ decision: "approve" })
          })
          return [response.status, (await response.json()).detail]
        }, [`/v1/conversations/${params.id}/approvals/any`, tokenOf("ada")])
        assert.deepStrictEqual(refused, [403, "Only a colleague may do that: a customer waits for the decision"])
      })
    }))

  it.effect("shows answers piece by piece, also to who reloads in the middle, and once to who sees a restart", () =>
    Effect.gen(function*() {
      const pacing = makePacing(3)
      const { page, service, start } = yield* visit({ pacing, settings: { grace: Duration.zero } })
      const answer = page.locator(".answer .text")
      const isWritten = (text: RegExp) => answer.filter({ hasText: text }).waitFor()
      yield* Effect.promise(async () => {
        await say(page, "Where is order 1043?")
        await isWritten(/^Order 1043 \(Tik$/)
        assert.strictEqual(await page.locator(".answer[aria-busy=true]").count(), 1)
        await status(page).getByText("Orders is writing…").waitFor()
        pacing.allow(2)
        await isWritten(/^Order 1043 \(Tik wall clock$/)
        await page.reload()
        await isWritten(/^Order 1043 \(Tik wall clock$/)
        pacing.allow(2)
        await isWritten(/^Order 1043 \(Tik wall clock and 2$/)
        await page.getByRole("navigation").getByText("answering").waitFor()
        pacing.allow("slowly")
      })
      yield* service.stop
      yield* Effect.promise(() => status(page).getByText("Reconnecting in").waitFor())
      pacing.allow(Number.POSITIVE_INFINITY)
      yield* start({ port: Number(new URL(service.url).port) })
      yield* Effect.promise(async () => {
        await isWritten(/is due on 18 March\.$/)
        await status(page).filter({ hasText: /^$/ }).waitFor({ state: "attached" })
        assert.strictEqual(await page.locator(".said").count(), 1)
        assert.strictEqual(await answer.count(), 1)
        assert.strictEqual(await page.locator(".answer[aria-busy]").count(), 0)
      })
    }))

  it.effect("stops an answer at Escape and goes on with it", () =>
    Effect.gen(function*() {
      const pacing = makePacing("slowly")
      const { page } = yield* visit({ pacing })
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await page.locator(".answer").waitFor()
        await page.getByRole("button", { name: "Stop" }).waitFor()
        await page.keyboard.press("Escape")
        await saysThat(page, "#standing", "The desk was stopped before its answer")
        assert.strictEqual(await page.locator(".answer").count(), 0)
        await page.reload()
        await saysThat(page, "#standing", "The desk was stopped before its answer")
        pacing.allow(Number.POSITIVE_INFINITY)
        await page.getByRole("button", { name: "Go on" }).click()
        await page.locator(".answer").waitFor()
        await page.getByRole("button", { name: "Send" }).waitFor()
      })
    }))

  it.effect("takes back what guardrails withdraw, says why a run failed, and shows no text as HTML", () =>
    Effect.gen(function*() {
      const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
      const pacing = makePacing()
      const html = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
      const clerk = Agent.make("clerk", { guardrails: { output: [Guardrail.noSecrets], releaseEarly: true } })
      const agents = alone(
        clerk,
        MockModel.conditional(
          MockModel.when(({ lastUserText }) => lastUserText.includes("key"), `It is ${key}.`),
          MockModel.when(({ lastUserText }) => lastUserText.includes("fail"), MockResponse.httpError(400)),
          MockModel.otherwise(html)
        )
      )
      const { page } = yield* visit({ agents, pacing })
      yield* Effect.promise(async () => {
        await say(page, html)
        await page.locator(".answer").filter({ hasText: html }).waitFor()
        assert.strictEqual(await page.title(), "Halden · Support desk")
        assert.strictEqual(await page.locator("#log img, #log script").count(), 0)
        pacing.allow(2)
        await say(page, "Tell me the key")
        await page.locator(".answer[aria-busy]").filter({ hasText: "It is" }).waitFor()
        pacing.allow(Number.POSITIVE_INFINITY)
        await log(page).getByText("What was said is taken back").waitFor()
        assert.notInclude(await log(page).innerText(), key)
        await say(page, "Please fail")
        await saysThat(page, "#standing", "The desk couldn't answer")
        await page.getByRole("button", { name: "Try again" }).click()
        await saysThat(page, "#standing", "The desk couldn't answer")
      })
    }))

  it.effect("says that a guardrail changed what was said, also in mid-answer and after a reload", () =>
    Effect.gen(function*() {
      const pacing = makePacing(2)
      const { page } = yield* visit({ pacing })
      const said = page.locator(".said")
      const changed = said.filter({ hasText: "Changed by a guardrail (pii:" })
      yield* Effect.promise(async () => {
        await say(page, "My card is 4111 1111 1111 1111")
        await page.locator(".answer[aria-busy=true]").waitFor()
        const text = await changed.innerText()
        await page.reload()
        await page.locator(".answer[aria-busy=true]").waitFor()
        assert.strictEqual(await changed.innerText(), text)
        pacing.allow(Number.POSITIVE_INFINITY)
        await page.getByRole("button", { name: "Send", exact: true }).waitFor()
        await say(page, "Where is order 1043?")
        await log(page).getByText("due on 18 March").waitFor()
        await page.reload()
        await log(page).getByText("due on 18 March").waitFor()
        assert.strictEqual(await changed.innerText(), text)
        assert.deepStrictEqual([await said.count(), await changed.count()], [2, 1])
        assert.notInclude(text, "4111")
      })
    }))

  it.effect("shows calls whose names every object knows, and opens their conversation again", () =>
    Effect.gen(function*() {
      const agents = alone(
        Agent.make("clerk"),
        MockModel.queue(MockResponse.toolCall("__proto__", {}), MockResponse.toolCall("constructor", {}), "Done.")
      )
      const { page } = yield* visit({ agents })
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await log(page).getByText("Done.").waitFor()
        await page.reload()
        await log(page).getByText("Done.").waitFor()
        await log(page).getByText("Couldn't call __proto__").waitFor()
        await log(page).getByText("Couldn't call constructor").waitFor()
      })
    }))

  it.effect("says what is wrong and what to do, and sends again without saying it twice", () =>
    Effect.gen(function*() {
      const { page } = yield* visit()
      const problem = (status: number, type: string, more: Record<string, unknown> = {}) => ({
        status,
        contentType: "application/problem+json",
        body: JSON.stringify({ type: `urn:troupe-backend:${type}`, status, title: type, ...more })
      })
      const notice = page.locator("#notice")
      yield* Effect.promise(async () => {
        const cases = [
          [problem(409, "conversation-busy"), "The desk is still busy here"],
          [problem(413, "body-too-large"), "That is too long"],
          [problem(429, "too-many-requests", { limit: "runs", retryAfter: 2 }), "Too many answers under way"],
          [problem(429, "too-many-requests", { limit: "rate", retryAfter: 9 }), "You can go on in"],
          [
            problem(503, "unavailable", { retryAfter: 1, detail: "Too many conversations are open at a time" }),
            "Too many conversations are open at a time."
          ],
          [{ status: 500, body: "oops" }, "The service answered 500"]
        ] as const
        for (const [response, text] of cases) {
          await intercept(page, "**/messages", (route) => route.fulfill(response))
          if (response === cases[0][0]) await say(page, "Hello")
          else await page.getByRole("button", { name: "Send again" }).click()
          await notice.filter({ hasText: text }).waitFor()
          await log(page).getByText("Not sent.").waitFor()
        }
        // The message arrives, and its answer doesn't.
        await intercept(page, "**/messages", async (route) => {
          await route.fetch()
          await route.abort()
        })
        await page.getByRole("button", { name: "Send again" }).click()
        await page.locator(".answer").waitFor()
        await page.getByRole("button", { name: "Send", exact: true }).waitFor()
        assert.strictEqual(await page.locator(".said").count(), 1)
        await notice.filter({ hasText: "The service can't be reached" }).waitFor()
        await notice.filter({ hasText: "Messages that weren't sent stay while this conversation is open." }).waitFor()
        await notice.getByRole("button", { name: "Dismiss" }).click()
        await notice.waitFor({ state: "hidden" })
      })
    }))

  it.effect("keeps what wasn't sent above later answers, until it is sent again or dismissed", () =>
    Effect.gen(function*() {
      const { page } = yield* visit()
      const order = () => page.locator(".said .text, .answer .text").allInnerTexts()
      const isAnswered = (count: number) => page.locator(".answer").nth(count - 1).waitFor()
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await isAnswered(1)
        await intercept(page, "**/messages", (route) => route.abort(), 2)
        for (const text of ["Lost?", "Gone?"]) {
          await page.getByRole("button", { name: "Send", exact: true }).waitFor()
          await say(page, text)
          await page.locator(".unsent", { hasText: text }).waitFor()
        }
        await say(page, "Where is order 1043?")
        await log(page).getByText("due on 18 March").waitFor()
        const [, hello] = await order()
        assert.deepStrictEqual((await order()).slice(0, -1), ["Hello", hello, "Lost?", "Gone?", "Where is order 1043?"])
        await page.locator(".unsent", { hasText: "Lost?" }).getByRole("button", { name: "Dismiss" }).click()
        await page.locator(".unsent", { hasText: "Lost?" }).waitFor({ state: "detached" })
        assert.isTrue(await words(page).evaluate((element) => element === document.activeElement))
        await page.locator("#notice").waitFor({ state: "hidden" })
        await page.locator(".unsent").getByRole("button", { name: "Send again" }).click()
        await page.locator(".unsent").waitFor({ state: "detached" })
        await isAnswered(3)
        const texts = await order()
        assert.deepStrictEqual([texts[0], texts[2], texts[4]], ["Hello", "Where is order 1043?", "Gone?"])
      })
    }))

  it.effect("reads again what it can't follow any more, and says what is gone", () =>
    Effect.gen(function*() {
      const { page } = yield* visit()
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await page.locator(".answer").waitFor()
        await page.getByRole("button", { name: "Send", exact: true }).waitFor()
        let open = (): void => undefined
        const isSlow = new Promise<void>((resolve) => (open = resolve))
        await intercept(page, /conversations\/[0-9a-f-]{36}$/, async (route) => {
          await isSlow
          await route.continue()
        })
        await page.reload()
        await status(page).getByText("Opening the conversation…").waitFor()
        assert.isTrue(await page.getByRole("button", { name: "Send", exact: true }).isDisabled())
        open()
        await page.locator(".answer").waitFor()
        let refused = 0
        await intercept(page, "**/events", (route) => {
          refused++
          return route.fulfill({ status: 410, body: JSON.stringify({ type: "urn:troupe-backend:cursor-expired" }) })
        })
        await page.reload()
        await page.locator(".answer").waitFor()
        await say(page, "Where is order 1043?")
        await log(page).getByText("due on 18 March").waitFor()
        assert.strictEqual(refused, 1)
        const address = page.url()
        await page.getByRole("button", { name: "Delete" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click()
        await page.getByText("No conversations yet").waitFor()
        await page.locator("#notice").waitFor({ state: "hidden" })
        await page.goto(address)
        await page.locator("#notice").filter({ hasText: "This conversation is gone" }).waitFor()
      })
    }))

  it.effect("asks again where a request got lost on the way", () =>
    Effect.gen(function*() {
      const { page } = yield* visit()
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await page.locator(".answer").waitFor()
        await page.getByRole("button", { name: "Send", exact: true }).waitFor()
        await page.clock.install()
        // Nobody answers.
        await intercept(page, /conversations\/[0-9a-f-]{36}$/, () => Promise.resolve())
        await page.reload()
        await status(page).getByText("Opening the conversation…").waitFor()
        await page.clock.fastForward(29_000)
        await status(page).getByText("Opening the conversation…").waitFor()
        assert.strictEqual(await page.locator("#notice").isVisible(), false)
        await page.clock.fastForward(2_000)
        await page.locator("#notice").filter({ hasText: "The service can't be reached" }).waitFor()
        await page.locator(".answer").waitFor()
        await page.locator("#notice").waitFor({ state: "hidden" })
      })
    }))

  it.effect("is limited by the tenant's runs, and goes on when there is room", () =>
    Effect.gen(function*() {
      const pacing = makePacing(1)
      const { page } = yield* visit({
        pacing,
        settings: { limits: { runs: 1 } }
      })
      yield* Effect.promise(async () => {
        await say(page, "Hello")
        await page.locator(".answer[aria-busy]").waitFor()
        await page.getByRole("button", { name: "New conversation" }).click()
        await page.getByRole("heading", { name: "What is it about?" }).waitFor()
        await say(page, "Hello")
        await page.getByRole("alert").filter({ hasText: "Too many answers under way" }).waitFor()
        pacing.allow(Number.POSITIVE_INFINITY)
        await page.getByText("answering").waitFor({ state: "hidden" })
        await page.getByRole("button", { name: "Send again" }).click()
        await page.locator(".answer").waitFor()
      })
    }))

  it.effect("is used with the keyboard alone", () =>
    Effect.gen(function*() {
      const { page } = yield* visit()
      const focused = () =>
        page.evaluate(() => {
          const element = document.activeElement
          return element?.getAttribute("aria-label") ?? element?.textContent?.trim() ?? ""
        })
      yield* Effect.promise(async () => {
        const order: Array<string> = []
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
        for (let n = 0; n < 7; n++) {
          await page.keyboard.press("Tab")
          order.push(await focused())
          const outline = await page.evaluate(() => {
            const element = document.activeElement!
            const own = getComputedStyle(element)
            const around = getComputedStyle(element.closest(".composer") ?? element)
            return own.outlineStyle !== "none" || around.boxShadow !== "none"
          })
          assert.isTrue(outline, `no visible focus on ${order.at(-1)}`)
        }
        assert.deepStrictEqual(order.map((text) => text.slice(0, 16)), [
          "Leave",
          "New conversation",
          "My lamp arrived ",
          refund.slice(0, 16),
          "Where is order 1",
          "I'm looking for ",
          ""
        ])
        assert.isTrue(await words(page).evaluate((element) => element === document.activeElement))
        await page.keyboard.type("I want my money back for the cracked floor lamp,")
        await page.keyboard.press("Shift+Enter")
        await page.keyboard.type("order 1047")
        await page.keyboard.press("Enter")
        await page.getByRole("group", { name: "Approval:" }).waitFor()
        assert.isTrue(await words(page).evaluate((element) => element === document.activeElement))
        await log(page).getByText("lamp,\norder 1047").waitFor()
        for (let n = 0; n < 12 && await focused() !== "Delete"; n++) await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Enter")
        await page.getByRole("dialog").waitFor()
        await page.keyboard.press("Escape")
        await page.getByRole("dialog").waitFor({ state: "hidden" })
        assert.strictEqual(await focused(), "Delete")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        assert.strictEqual(await focused(), "Delete it")
        await page.keyboard.press("Enter")
        await page.getByText("No conversations yet").waitFor()
        assert.strictEqual(await focused(), "New conversation")
      })
    }))

  it.effect("is used by a colleague with the keyboard alone", () =>
    Effect.gen(function*() {
      const { page, service } = yield* visit({ role: "colleague" })
      yield* service.begin(refund)
      const cards = page.getByRole("region", { name: "Awaiting approval" }).getByRole("group")
      const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "")
      const press = async (key: string, until: string) => {
        for (let n = 0; n < 12 && await focused() !== until; n++) await page.keyboard.press(key)
        assert.strictEqual(await focused(), until)
        await page.keyboard.press("Enter")
      }
      yield* Effect.promise(async () => {
        await cards.waitFor()
        assert.strictEqual(await focused(), "Awaiting approval")
        await press("Tab", refund)
        // The conversation is told by its title, and from there it goes back.
        await log(page).getByRole("button", { name: "Approve" }).waitFor()
        assert.strictEqual(await focused(), refund)
        await press("Shift+Tab", "Awaiting approval 1")
        await cards.waitFor()
        assert.strictEqual(await focused(), "Awaiting approval")
        await press("Tab", "Approve")
        await cards.waitFor({ state: "detached" })
        assert.strictEqual(await focused(), "Awaiting approval")
        await page.getByRole("status").filter({ hasText: "Approved: open a claim" }).waitFor()
      })
    }))

  it.effect("fits a phone, and can be read in light and dark", () =>
    Effect.gen(function*() {
      for (const scheme of ["light", "dark"] as const) {
        const { page, service } = yield* visit({ width: 360, scheme })
        const check = async (where: string) => {
          assert.deepStrictEqual(await page.evaluate(findWide), [], where)
          assert.deepStrictEqual(await page.evaluate(findFaint), [], `${scheme}: ${where}`)
          assert.deepStrictEqual(await page.evaluate(findSmall), [], where)
        }
        yield* Effect.promise(async () => {
          await check("welcome")
          await say(page, `${refund} ${"x".repeat(80)}`)
          await page.getByRole("heading", { level: 1, name: /^.{79}…$/ }).waitFor()
          await status(page).getByText("Waits for a colleague's approval").waitFor()
          await check("waiting")
          await page.evaluate((token) => void (location.hash = `#token=${token}`), tokenOf(colleagueOf("ada")))
          const queue = page.getByRole("region", { name: "Awaiting approval" })
          await queue.getByRole("button", { name: "Approve" }).waitFor()
          await check("queue")
          await queue.getByRole("link").click()
          await log(page).getByRole("button", { name: "Approve" }).waitFor()
          await check("approval")
          await page.evaluate((token) => void (location.hash = `#token=${token}`), tokenOf("ada"))
          await page.getByRole("navigation").getByRole("link", { name: refund }).click()
          await status(page).getByText("Waits for a colleague's approval").waitFor()
        })
        yield* decide(service, "approve")
        yield* Effect.promise(async () => {
          await log(page).getByText("Your claim is").waitFor()
          await log(page).getByText("Looked up order 1047").click()
          await check("answer")
          await page.getByRole("link", { name: "All conversations" }).click()
          await page.getByRole("button", { name: "New conversation" }).waitFor()
          await page.getByRole("navigation").getByRole("link", { name: refund }).waitFor()
          await check("list")
        })
      }
    }))
})
