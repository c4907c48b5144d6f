// Draws each chart of a page from its own address. Without this file the tables hold the same numbers.
"use strict";

const scheme = matchMedia("(prefers-color-scheme: dark)");
const CONFIG = {
  displaylogo: false,
  responsive: true,
  modeBarButtonsToRemove: ["sendChartToCloud", "toImage", "select2d", "lasso2d", "autoScale2d"],
};

// The page's own colours, so that a chart follows light and dark.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function with_ink(value, ink) {
  if (value === "#000000") return ink;
  if (Array.isArray(value) || value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, with_ink(part, ink)]));
}

function themed(figure) {
  const [ink, line, ground] = [colour("--ink"), colour("--line"), colour("--ground")];
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line };
  const layout = {
    ...figure.layout,
    paper_bgcolor: ground,
    plot_bgcolor: ground,
    font: { color: ink, family: "system-ui, sans-serif", size: 12 },
    hoverlabel: { bgcolor: ground, bordercolor: line, font: { color: ink } },
    xaxis: { ...axis, ...figure.layout.xaxis },
    yaxis: { ...axis, ...figure.layout.yaxis },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
  };
  return { data: figure.data.map((trace) => with_ink(trace, ink)), layout };
}

async function draw(place) {
  try {
    const answer = await fetch(place.dataset.figure);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const figure = await answer.json();
    const show = () => {
      const { data, layout } = themed(figure);
      return Plotly.react(place, data, layout, CONFIG);
    };
    await show();
    scheme.addEventListener("change", show);
    offer_picture(place);
    place.dataset.drawn = "yes";
  } catch (error) {
    place.textContent = `The chart cannot be drawn (${error.message}). The table below has the same numbers.`;
  }
}

// Plotly's own button would show the picture from a blob: address, which our policy has no need to allow.
async function save_picture(place) {
  const [width, height, scale] = [place.clientWidth, place.clientHeight, 2];
  const svg = await Plotly.toImage(place, { format: "svg", width, height, imageDataOnly: true });
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const link = document.createElement("a");
  link.download = `${place.dataset.name}.png`;
  link.href = URL.createObjectURL(await new Promise((done) => canvas.toBlob(done, "image/png")));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function offer_picture(place) {
  const button = place.closest("figure")?.querySelector("button.png");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => save_picture(place));
}

for (const place of document.querySelectorAll("[data-figure]")) draw(place);
