/**
 * What is hard to see or to press on a page. Each of these is run in the browser, so that it stands for itself.
 */

/** Texts in sight whose contrast to what is behind them is less than 4.5 (WCAG 2.2, 1.4.3). */
export const findFaint = (): ReadonlyArray<string> => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!
  const parsed = new Map<string, ReadonlyArray<number>>()
  const parse = (color: string): ReadonlyArray<number> => {
    const known = parsed.get(color)
    if (known !== undefined) return known
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    const [r = 0, g = 0, b = 0, a = 0] = canvas.getImageData(0, 0, 1, 1).data
    parsed.set(color, [r, g, b, a / 255])
    return [r, g, b, a / 255]
  }
  const luminance = ([r = 0, g = 0, b = 0]: ReadonlyArray<number>): number => {
    const [x = 0, y = 0, z = 0] = [r, g, b].map((value) => {
      const share = value / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const behind = (element: Element): ReadonlyArray<number> => {
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor)
      if (color[3] === 1) return color
    }
    return parse("Canvas")
  }
  const faint: Array<string> = []
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ nodeValue }) => nodeValue)
      .join("")
    if (text.trim() === "" || !element.checkVisibility({ opacityProperty: true })) continue
    if (element.closest(".unseen, noscript, script") !== null) continue
    const [light, dark] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))].sort((a, b) =>
      b - a
    )
    const contrast = (light! + 0.05) / (dark! + 0.05)
    if (contrast < 4.5) faint.push(`${text.trim()}: ${contrast.toFixed(2)}`)
  }
  return faint
}

/** What is wider than its place, so that somebody has to scroll sideways. */
export const findWide = (): ReadonlyArray<string> =>
  [document.documentElement, ...document.querySelectorAll("body, body *")].flatMap((element) =>
    element.checkVisibility() && element.closest(".unseen") === null && element.clientWidth > 0 &&
      element.scrollWidth > element.clientWidth + 1
      ? [`${element.tagName} ${element.className}: ${element.scrollWidth} in ${element.clientWidth}`]
      : []
  )

/** What can be pressed in sight and is smaller than 24 by 24 (WCAG 2.2, 2.5.8). */
export const findSmall = (): ReadonlyArray<string> =>
  [...document.querySelectorAll("button, a, input, textarea, summary")].flatMap((element) => {
    const { height, width } = element.getBoundingClientRect()
    return element.checkVisibility() && (height < 24 || width < 24)
      ? [`${element.textContent}: ${width}×${height}`]
      : []
  })
